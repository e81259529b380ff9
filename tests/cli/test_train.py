"""`lengthwise train` on tasks over sets and on games, and what `show` and `certify` make of it."""

import shlex
from pathlib import Path

import polars
import pytest

from lengthwise.cli import main
from lengthwise.cli.train import OthelloGrid, RetrievalGrid, members
from lengthwise.papers.vanishing_variance.retrieval import MAIN_SIZES, plan
from lengthwise.runs import RunFolder

SMALL = shlex.split(
    "--width 8 --steps 12 --batch 8 --seeds 2 --shortest 2 --train-length 6 "
    "--test-lengths 4 16 64 --test-inputs 10 --out"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "argmax"
    assert main(["train", "argmax-retrieval", "--norm", "layernorm", *SMALL, str(folder)]) == 0
    return folder


def test_retrieval_is_trained_as_the_paper_does() -> None:
    planned = plan(MAIN_SIZES["quick"])["argmax-none"]
    assert members(RetrievalGrid(), range(len(planned.members))) == planned.members


def test_hyperparameters_make_a_grid(tmp_path: Path) -> None:
    command = ["train", "dictionary-lookup", "--keys", "symbols", "--symbols", "70"]
    grid = ["--learning-rate", "1e-3", "1e-2", "--ema-powers", "0.5", "--bias-powers", "0.2"]
    assert main([*command, *grid, *SMALL, str(tmp_path / "run")]) == 0
    folder = RunFolder.open(tmp_path / "run")
    assert [(member.learning_rate, member.seed) for member in folder.members] == [
        (1e-3, 0), (1e-3, 1), (1e-2, 0), (1e-2, 1),
    ]  # fmt: skip
    assert folder.recipe.name == "dictionary-lookup"
    assert set(folder.table()["weights"]) == {"raw", "ema", "bema"}


def test_othello_is_trained_with_every_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "games"
    command = shlex.split(
        "train othello --board 4 --train-moves 6 --model tiny --layers 1 --width 8 --batch 4 "
        "--steps 3 --test-inputs 10 --ema-powers 0.5 0.7 --bias-powers 0.2 0.4 --out"
    )
    assert main([*command, str(folder)]) == 0
    run = RunFolder.open(folder)
    assert run.members == members(OthelloGrid(ema_powers=(0.5, 0.7), bias_powers=(0.2, 0.4)),
                                  range(1))  # fmt: skip
    assert run.recipe.train_length == 5
    kinds = run.table().select("weights", "ema_power", "bias_power").unique()
    assert sorted(kinds["weights"]) == ["bema"] * 4 + ["ema"] * 2 + ["raw"]
    capsys.readouterr()
    assert main(["show", str(folder)]) == 0
    assert "trained on lengths up to 5" in " ".join(capsys.readouterr().out.split())


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
    (checkpoint,) = RunFolder.open(run).checkpoints()
    assert main(["certify", str(checkpoint)]) == 2
    assert "expected a checkpoint of a minimal transformer" in capsys.readouterr().err
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("argmax-retrival", "did you mean 'train argmax-retrieval'"),
        ("argmax-retrieval --norm layrnorm", "norm = 'layrnorm': did you mean 'layernorm'"),
        ("argmax-retrieval --classes 1", "classes = 1: expected at least 2"),
        ("argmax-retrieval --shortest 20", "shortest = 20: expected one of 1..train_length = 16"),
        ("argmax-retrieval --test-lengths 0", "test_lengths = 0: expected numbers of 1.."),
        ("argmax-retrieval --attention constant", "--attention"),
        ("argmax-retrieval --dropout-embedding 0.1", "--dropout-embedding"),
        ("argmax-retrieval --keys symbols", "--keys"),
        ("argmax-retrieval --seeds 0", "seeds = 0: expected at least 1"),
        ("dictionary-lookup --keys symbols --symbols 100", "test_lengths = 128: expected numbers"),
        ("dictionary-lookup --key-width 1", "key_width = 1: expected at least 4"),
        ("othelo", "did you mean 'train othello'"),
        ("othello --board 5", "board = 5: expected a size out of 4, 6, 8"),
        ("othello --train-moves 61", "train_moves = 61: expected 2..60"),
        ("othello --board 6 --train-moves 33", "train_moves = 33: expected 2..32"),
        ("othello --train-moves 1", "train_moves = 1: expected 2..60"),
        ("othello --positions lerned", "'lerned' for argument '--positions'"),
        ("othello --model large", "'large' for argument '--model'"),
        ("othello --norm layrnorm", "norm = 'layrnorm': did you mean 'layernorm'"),
        ("othello --batch 10 --accumulate 3", "accumulate = 3: expected a divisor of batch = 10"),
        ("othello --heads 3", "width = 128: expected a multiple of 3"),
        ("othello --heads 1 --width 3 --positions rotary", "width of a head = 3: expected even"),
        ("othello --dropout-embedding 1", "dropout_embedding = 1.0: expected a rate in [0, 1)"),
        ("othello --seeds 0", "seeds = 0: expected at least 1"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == [], "nothing is written"
