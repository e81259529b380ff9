"""Killed at any moment and resumed, a run ends as if nothing had happened."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from lengthwise.cli import main
from lengthwise.models import MinimalModel
from lengthwise.runs import Interrupted, RunFolder, execute, recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters

COMMAND = [sys.executable, "-m", "lengthwise"]
TRAIN = [
    "train", "set-complement", "--vocab", "8", "--max-train-length", "5", "--steps", "800",
    "--seeds", "2", "--attention-dropout", "0.1", "--checkpoint-seconds", "0.1", "--out",
]  # fmt: skip


def content(folder: Path) -> tuple[polars.DataFrame, bytes]:
    run = RunFolder.open(folder)
    return run.table(), run.checkpoints()[-1].read_bytes()


def _events(folder: Path) -> int:
    """How many lines the run's log has."""
    log = folder / "log.txt"
    return len(log.read_text().splitlines()) if log.exists() else 0


def small_run(path: Path, steps: int = 60) -> RunFolder:
    model = MinimalModel(extra_width=1)
    recipe = recipe_for(SetComplement(6), model, max_train_length=3, steps=steps, test_inputs=50)
    every = (Hyperparameters(seed=0, resid_dropout=0.1), Hyperparameters(seed=1))
    return RunFolder.create(path, recipe, every, ["test"])


def test_killed_at_random_moments(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main([*TRAIN, str(whole)]) == 0
    chance = random.Random(0)
    command, kills = [*COMMAND, *TRAIN, broken], 0
    for _ in range(3):
        events = _events(broken)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # Wait until it trains, then a little, so that kills meet steps, checkpoints and measures.
        while process.poll() is None and _events(broken) == events:
            time.sleep(0.02)
        try:
            process.wait(timeout=chance.uniform(0.05, 1.5))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        command = [*COMMAND, "resume", broken, "--checkpoint-seconds", "0.1"]
        if RunFolder.open(broken).finished:
            break
    assert kills >= 1, "the test must have interrupted something"
    execute(RunFolder.open(broken))
    table, weights = content(broken)
    expected_table, expected_weights = content(whole)
    assert weights == expected_weights
    assert table.equals(expected_table)


@pytest.mark.parametrize("at", [1, 30, 59])
def test_stopped_by_request(tmp_path: Path, at: int) -> None:
    execute(small_run(tmp_path / "whole"))
    folder = small_run(tmp_path / "broken")
    asked = iter(range(1, 1000))
    with pytest.raises(Interrupted):
        execute(folder, stop=lambda: next(asked) == at)
    assert not folder.finished
    assert folder.newest_step() == at
    execute(RunFolder.open(folder.path))
    table, weights = content(folder.path)
    expected_table, expected_weights = content(tmp_path / "whole")
    assert weights == expected_weights
    assert table.equals(expected_table)


def test_control_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*COMMAND, *TRAIN[:7], "1000000", *TRAIN[8:], folder],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (folder / "log.txt").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"resume {folder}" in output
    assert "Traceback" not in errors
    assert RunFolder.open(folder).newest_step() > 0


def test_a_finished_run_stays_as_it_is(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    execute(folder)
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    execute(RunFolder.open(folder.path))
    assert before == {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()}
