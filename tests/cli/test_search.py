"""`lengthwise search`: what people type, and what they get."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import polars
import pytest
from search.small import TEXT, Inline, space_file

from lengthwise.cli import main
from lengthwise.cli.terminal import progress_display
from lengthwise.progress import Progress
from lengthwise.search import SearchFolder, load_space, search


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    arguments = ["--trials", "6", "--workers", "1", "--out", str(folder / "out")]
    space = str(space_file(folder))
    assert main(["search", "set-complement", "--space", space, *arguments]) == 0
    return folder


def test_a_search_from_start_to_status(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = searched / "out"
    assert (out / "space.py").read_text() == space_file(searched).read_text()
    again = ["search", "set-complement", "--space", str(space_file(searched)), "--trials", "6"]
    assert main([*again, "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert "6 trials done" in captured.out
    assert "best: trial" in captured.out
    assert "6/6 trials" in captured.err, "plain lines where the output is not a terminal"
    assert main(["search", "status", str(out), "--top", "2"]) == 0
    status = capsys.readouterr().out
    assert f"6 of 6 trials, seed 0, {len(SearchFolder.open(out).files())} fleets" in status
    assert "0 diverged" in status
    assert "learning_rate" in status
    assert "least tvd_beyond" in status
    assert main(["search", "status", str(out), "--objective", "kl_within"]) == 0
    assert "least kl_within" in capsys.readouterr().out
    assert main(["search", "status", str(out), "--objective", "kl_witin"]) == 2
    assert "did you mean 'kl_within'" in capsys.readouterr().err


def test_status_of_an_unfinished_search(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = SearchFolder.open(searched / "out")
    folder.description["asked"] = [9]
    description = (searched / "out" / "search.json").read_bytes()
    folder._save()
    assert main(["search", "status", str(searched / "out")]) == 0
    status = capsys.readouterr().out
    (searched / "out" / "search.json").write_bytes(description)
    assert "6 of 9 trials" in status
    assert "stopped; resume with: " in status


def test_exports(searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(searched / "out")
    target = tmp_path / "table.parquet"
    assert main(["search", "export", out, "--to", "parquet", str(target)]) == 0
    assert len(polars.read_parquet(target)) == 6 * 3
    assert main(["search", "export", out, "--to", "csv", str(tmp_path / "table.csv")]) == 0
    capsys.readouterr()
    assert main(["search", "export", out, "--to", "csv", str(tmp_path / "table.csv")]) == 2
    assert "does not exist yet" in capsys.readouterr().err
    optuna = pytest.importorskip("optuna")
    storage = f"sqlite:///{tmp_path}/study.db"
    assert main(["search", "export", out, "--to", "optuna", storage, "--name", "mine"]) == 0
    assert len(optuna.load_study(study_name="mine", storage=storage).trials) == 6


BAD_SPACES = {
    "inverted.py": (TEXT.replace("1e-3, 1e-1", "1e-1, 1e-3"), "LogUniform(0.1, 0.001): inverted"),
    "empty.py": (TEXT.replace("Choice(2, 3)", "Choice()"), "Choice = (): expected at least one"),
    "unknown.py": (TEXT.replace("learning_rate", "learnin_rate"), "did you mean 'learning_rate'"),
    "long.py": (TEXT.replace("Choice(2, 3)", "Choice(7, 8)"), "expected one of 1..5"),
    "none.py": ("", "a file that defines 'space = Space(...)'"),
}


@pytest.mark.parametrize("name", BAD_SPACES)
def test_bad_spaces(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, message = BAD_SPACES[name]
    Path(name).write_text(text.format(steps=12))
    assert main(["search", "set-complement", "--space", name]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing is written"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "set-complment"], "did you mean 'search set-complement'"),
        (["search", "set-complement", "--trials", "0"], "trials = 0: expected at least 1"),
        (["search", "set-complement", "--workers", "0"], "workers = 0: expected at least 1"),
        (["search", "set-complement", "--space", "no.py"], "file = 'no.py': expected a Python"),
        (["search", "set-complement", "--ray", "127.0.0.1:9"], "nothing answers there"),
        (["search", "set-complement", "--ray", "somewhere"], "expected host:port, auto or local"),
        (["search", "run"], "PATH"),
        (["search", "status", "nowhere"], "search = 'nowhere': expected a search folder"),
        (["search", "export", "nowhere", "--to", "csv", "x"], "search = 'nowhere'"),
        (["search", "export", "nowhere", "--to", "excel", "x"], "--to"),
    ],
)
def test_bad_input(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_another_seed_or_a_changed_file(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = space_file(searched)
    command = ["search", "set-complement", "--out", str(searched / "out"), "--trials", "6"]
    assert main([*command, "--space", str(space), "--seed", "3"]) == 2
    assert "holds a search with seed 0, not 3" in capsys.readouterr().err
    assert main(command) == 2
    assert "holds a search of another space: " in capsys.readouterr().err
    changed = searched / "changed.py"
    changed.write_text(space.read_text() + "# one more line\n")
    assert main([*command, "--space", str(changed)]) == 2
    assert "the file that defines it has changed" in capsys.readouterr().err


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files does to a write what a full disk does."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))

    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "lengthwise", "search", "set-complement", "--workers", "1",
        "--space", str(space_file(tmp_path)), "--out", str(out), "--trials",
    ]  # fmt: skip
    search(load_space(space_file(tmp_path)), 4, out, executor=Inline())
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    full = subprocess.run(
        [*command, "20"], capture_output=True, text=True, preexec_fn=limit, env=environment
    )
    assert full.returncode == 2, full.stderr
    message = full.stderr.strip().splitlines()[-1]
    assert "cannot write" in message
    assert "nothing that was there before is lost" in message
    assert "Traceback" not in full.stderr
    assert SearchFolder.open(out).done() == set(range(4))
    again = search(load_space(space_file(tmp_path)), 20, out, executor=Inline())
    assert again.done() == set(range(20))


def test_progress_says_what_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_display() as report:
        for done in (0, 5, 10):
            report(Progress("search", done, 10, "trials", "best 0.1000 (trial 3)", "minute", 75.0))
        report(Progress("othello", 1, 2, "games"))
        report(Progress("mine", 3, 9, detail="loss 0.2500, 1 diverged"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "search: 0/10 trials", "search: 10/10 trials", "othello: 1/2 games", "mine: 3/9 steps",
    ]  # fmt: skip
    assert "trials per minute, 1:15 left" in lines[0]
    assert "left" not in lines[1], "it is over"
    assert "games/s" in lines[2]
    assert "loss 0.2500, 1 diverged" in lines[3]
    assert "steps/s" in lines[3]
