"""`lengthwise certify` on a real run and on saved models; bad input in one line."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from lengthwise.cli import main
from lengthwise.models import MinimalModel
from lengthwise.runs import RunFolder, execute, load_model, recipe_for, save_model
from lengthwise.tasks import SetComplement
from lengthwise.theory import certify, minimal_model, unbalanced_model
from lengthwise.training import Hyperparameters


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certify") / "run"
    model = MinimalModel(extra_width=2)
    recipe = recipe_for(SetComplement(7), model, max_train_length=3, steps=200, test_inputs=50)
    seeds = tuple(Hyperparameters(seed=seed) for seed in range(2))
    execute(RunFolder.create(path, recipe, seeds, ["test"]))
    return path


def test_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", str(run), "--model", "1"]) == 0
    out = capsys.readouterr().out
    margins = certify(load_model(run, 1)).margins
    assert f"{margins[6]:#.3g}".rstrip(".") in out
    assert (run / "certificate-1.png").stat().st_size > 10_000
    before = (run / "certificate-1.png").stat().st_mtime_ns
    assert main(["certify", str(run), "--model", "1"]) == 0
    assert "was there; --overwrite draws it anew" in capsys.readouterr().out
    assert (run / "certificate-1.png").stat().st_mtime_ns == before


def test_models_of_a_run_and_their_averages_differ(run: Path) -> None:
    powers = [{}, {"ema_power": 0.5}, {"ema_power": 0.5, "bias_power": 0.2}]
    found = {certify(load_model(run, k, **p), [3]).margins[3] for k in (0, 1) for p in powers}
    assert len(found) == 6


def test_a_checkpoint_and_a_figure_of_its_own(tmp_path: Path, capsys) -> None:
    save_model(unbalanced_model(6), tmp_path / "broken.safetensors")
    figure = tmp_path / "worst.svg"
    command = ["certify", str(tmp_path / "broken.safetensors"), "--figure", str(figure)]
    assert main(command) == 0
    assert "-2.33" in capsys.readouterr().out
    assert figure.read_text().startswith("<?xml")
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_a_saved_model_is_never_overwritten_unasked(tmp_path: Path) -> None:
    save_model(minimal_model(5), tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="does not exist yet"):
        save_model(minimal_model(5), tmp_path / "model.safetensors")


def bad_nan(folder: Path) -> list[str]:
    model = minimal_model(5)
    with torch.no_grad():
        model.embedding.weight[0, 0] = torch.nan
    save_model(model, folder / "nan.safetensors")
    return [str(folder / "nan.safetensors")]


def bad_other(folder: Path) -> list[str]:
    save_file({"weight": torch.zeros(2)}, folder / "other.safetensors")
    return [str(folder / "other.safetensors")]


def bad_bytes(folder: Path) -> list[str]:
    (folder / "bytes.safetensors").write_bytes(b"not a checkpoint")
    return [str(folder / "bytes.safetensors")]


def bad_length(folder: Path) -> list[str]:
    save_model(minimal_model(5), folder / "fine.safetensors")
    return [str(folder / "fine.safetensors"), "--lengths", "5"]


def bad_model(folder: Path) -> list[str]:
    save_model(minimal_model(5), folder / "one.safetensors")
    return [str(folder / "one.safetensors"), "--model", "1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (bad_nan, "embedding.weight holds NaN or infinity"),
        (bad_other, "expected a checkpoint of one model, written by save_model"),
        (bad_bytes, "expected a safetensors file"),
        (bad_length, "length = 5: expected one of 1..4"),
        (bad_model, "model = 1: expected 0"),
        (lambda folder: [str(folder / "nowhere")], "expected a run folder or a checkpoint"),
        (lambda folder: [str(folder)], "expected a run folder, with a run.json"),
    ],
)
def test_bad_input_is_one_line(make, message: str, tmp_path: Path, capsys) -> None:
    assert main(["certify", *make(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "2"], "model = 2: expected one of 0..1"),
        (["--ema-power", "0.6"], "ema_power = 0.6: expected one that the run kept"),
        (["--bias-power", "0.2"], "ema_power = None: expected a power"),
    ],
)
def test_what_a_run_does_not_hold(run: Path, options: list[str], message: str, capsys) -> None:
    assert main(["certify", str(run), *options, "--overwrite"]) == 2
    assert message in capsys.readouterr().err
