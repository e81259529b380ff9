"""`lengthwise train` on every kind of task, and what `show` and `certify` make of it."""

import shlex
from pathlib import Path

import polars
import pytest

from lengthwise.cli import main
from lengthwise.papers.vanishing_variance.retrieval.plan import MAIN_SIZES, plan
from lengthwise.registry import TASKS
from lengthwise.runs import RunFolder, default_hyperparameters

SMALL = shlex.split(
    "--width 8 --steps 12 --batch 8 --seeds 2 --min-train-length 2 --max-train-length 6 "
    "--test-lengths 4 16 64 --test-inputs 10 --out"
)


def train(arguments: str, folder: Path) -> RunFolder:
    assert main(["train", *arguments.split(), "--out", str(folder)]) == 0
    return RunFolder.open(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "argmax"
    assert main(["train", "argmax-retrieval", "--remedies", "layernorm", *SMALL, str(folder)]) == 0
    return folder


def test_retrieval_is_trained_as_the_paper_does() -> None:
    planned = plan(MAIN_SIZES["quick"])["argmax-none"]
    assert default_hyperparameters(TASKS.get("argmax-retrieval")) == planned.hyperparameters[0]


def test_hyperparameters_make_a_grid(tmp_path: Path) -> None:
    command = ["train", "dictionary-lookup", "--keys", "symbols", "--symbols", "70"]
    grid = ["--learning-rate", "1e-3", "1e-2", "--ema-powers", "0.5", "--bias-powers", "0.2"]
    assert main([*command, *grid, *SMALL, str(tmp_path / "run")]) == 0
    folder = RunFolder.open(tmp_path / "run")
    assert [(one.learning_rate, one.seed) for one in folder.hyperparameters] == [
        (1e-3, 0), (1e-3, 1), (1e-2, 0), (1e-2, 1),
    ]  # fmt: skip
    assert folder.recipe.task.name == "dictionary-lookup"
    assert set(folder.table()["weights"]) == {"raw", "ema", "bema"}


def test_othello_is_trained_with_every_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--board 4 --max-train-length 5 --layers 1 --heads 1 --width 8 --batch 4 --steps 3"
    powers = "--test-inputs 10 --ema-powers 0.5 0.7 --bias-powers 0.2 0.4"
    run = train(f"othello {options} {powers}", tmp_path / "games")
    (one,) = run.hyperparameters
    assert (one.ema_powers, one.bias_powers) == ((0.5, 0.7), (0.2, 0.4))
    assert one.learning_rate == 5e-4, "the task's own"
    kinds = run.table().select("weights", "ema_power", "bias_power").unique()
    assert sorted(kinds["weights"]) == ["bema"] * 4 + ["ema"] * 2 + ["raw"]
    capsys.readouterr()
    assert main(["show", str(run.path)]) == 0
    assert "trained on lengths up to 5" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "set-complement --vocab 6 --model gpt --layers 1 --heads 2 --width 8 --remedies alibi nap",
        "othello --board 4 --model minimal --remedies fire scalable layernorm:place=before",
    ],
)
def test_any_token_task_on_any_token_model(arguments: str, tmp_path: Path) -> None:
    few = "--steps 2 --batch 2 --seeds 1 --test-inputs 2"
    folder = train(f"{arguments} {few}", tmp_path / "run")
    assert folder.recipe.model.remedies == tuple(arguments.split("--remedies ")[1].split())
    assert max(folder.table()["length"]) == folder.recipe.task.lengths[-1]


@pytest.mark.parametrize(
    ("arguments", "longest", "tested"),
    [
        ("set-complement --vocab 6", 3, ()),
        ("othello --board 6 --layers 1 --heads 1 --width 4", 29, ()),
        ("othello --board 4 --layers 1 --heads 1 --width 4", 6, ()),
        ("dictionary-lookup --keys symbols --symbols 70 --width 4", 16, (16, 32, 64)),
    ],
)
def test_default_lengths_are_those_of_the_task_as_given(
    arguments: str, longest: int, tested: tuple[int, ...], tmp_path: Path
) -> None:
    """A default that does not fit a smaller task is no mistake of the user's."""
    few = "--steps 1 --batch 2 --seeds 1 --test-inputs 2"
    recipe = train(f"{arguments} {few}", tmp_path / "run").recipe
    assert (recipe.max_train_length, recipe.test_lengths) == (longest, tested)


def test_the_help_of_a_task_shows_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "othello", "--model", "minimal", "--board", "6", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "usage: lengthwise train othello" in out
    assert "task othello options" in out
    assert "model minimal options" in out
    assert "--extra-width" in out
    assert "--layers" not in out
    assert "Peak learning rate of AdamW. (default: 0.0005)" in out


def test_show_prints_accuracy_by_default(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run)]) == 0
    out = capsys.readouterr().out
    assert "accuracy, mean over models" in out
    table = RunFolder.open(run).table().filter(measure="accuracy", length=64)
    assert f"{table['value'].mean():#.3g}" in out
    rows = [line for line in out.splitlines() if "│" in line or "├" in line]
    assert [row[0] for row in rows] == ["│", "├", "│", "│"], "a rule below the trained lengths"
    assert "trained on lengths up to 6" in " ".join(out.split())


def test_show_plots_any_measure(run: Path, tmp_path: Path) -> None:
    for measure in ("accuracy", "global_mean_before"):
        figure = tmp_path / f"{measure}.svg"
        assert main(["show", str(run), "--measure", measure, "--plot", str(figure)]) == 0
        assert figure.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("measure", "message"),
    [("acuracy", "did you mean 'accuracy'"), ("tvd", "measure = 'tvd': known: accuracy, entropy")],
)
def test_a_measure_that_the_run_does_not_have(
    run: Path, measure: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(run), "--measure", measure]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_there_is_no_certificate_for_sets(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(run.iterdir())
    assert main(["certify", str(run)]) == 2
    said = capsys.readouterr().err
    assert "task = 'argmax-retrieval': expected set-complement" in said
    assert said.count("\n") == 1
    assert sorted(run.iterdir()) == before, "no figure is left behind"


def test_a_checkpoint_of_another_task_is_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "dictionary"
    assert main(["train", "dictionary-lookup", *SMALL, str(other)]) == 0
    folder, (checkpoint,) = RunFolder.open(other), RunFolder.open(run).checkpoints()
    folder.checkpoints()[-1].write_bytes(checkpoint.read_bytes())
    (other / "measures.parquet").unlink()
    capsys.readouterr()
    assert main(["resume", str(other)]) == 2
    said = capsys.readouterr().err
    assert "it belongs to another run" in said
    assert "Traceback" not in said


def test_a_finished_run_is_never_overwritten_unasked(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = polars.read_parquet(run / "measures.parquet")
    assert main(["train", "argmax-retrieval", *SMALL, str(run)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert polars.read_parquet(run / "measures.parquet").equals(before)


def test_what_cannot_be_trained_leaves_no_folder(tmp_path: Path) -> None:
    model = tmp_path / "recurrent.py"
    model.write_text("""
from dataclasses import dataclass
from lengthwise.models import Model, model
from torch import nn

@model("recurrent")
@dataclass(frozen=True, kw_only=True)
class Recurrent(Model):
    def build(self, task, hyperparameters, max_train_length=None):
        return nn.GRU(2, 2)
""")
    words = ["train", "set-complement", "--model", str(model), "--out", str(tmp_path / "run")]
    assert main(words) == 2
    assert list(tmp_path.iterdir()) == [model]
