"""Trackers get what is measured, and whatever they do, the training is the same."""

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import polars
import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.models import GPTModel
from lengthwise.registry import TASKS
from lengthwise.runs import Recipe, RunFolder, execute
from lengthwise.tracking import TRACKERS, Tracking, require_tracker, start
from lengthwise.tracking.numbers import of_losses, of_measures
from lengthwise.training import Hyperparameters

NAN = float("nan")


class Kept:
    """A sink that keeps what it gets, or fails at some call."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.got: list[tuple[dict[str, float], int]] = []
        self.fails_at = fails_at
        self.closed = False

    def log(self, values: Mapping[str, float], step: int) -> None:
        if len(self.got) == self.fails_at:
            raise OSError(28, "No space left on device")
        self.got.append((dict(values), step))

    def close(self) -> None:
        self.closed = True


def run(path: Path, track: Tracking | None) -> tuple[polars.DataFrame, dict[str, torch.Tensor]]:
    """Train and measure a small fleet with averages."""
    recipe = Recipe(
        task=TASKS.get("majority")(),
        model=GPTModel(layers=1, heads=2, width=8, remedies=("rotary",)),
        max_train_length=4, batch=4, steps=6, test_lengths=(4, 6), test_inputs=8, test_steps=(3,),
    )  # fmt: skip
    every = [Hyperparameters(seed=seed, ema_powers=(0.5,)) for seed in range(2)]
    folder = RunFolder.create(path, recipe, every, [])
    execute(folder, track=track)
    if track is not None:
        track.close()
    state = folder.load_checkpoint()
    assert state is not None
    return folder.table(), state


def test_a_run_is_the_same_with_and_without(tmp_path: Path) -> None:
    """Bit for bit, also where the tracker fails at once, on the way, or hangs for ever."""
    table, state = run(tmp_path / "plain", None)
    told: list[str] = []
    kept, broken, late = Kept(), Kept(fails_at=2), threading.Event()

    def raises() -> Kept:
        raise SystemExit(1)

    def hangs() -> Kept:
        late.wait()
        return Kept()

    openers = {"kept": lambda: kept, "broken": lambda: broken, "raises": raises, "hangs": hangs}
    for name, opener in openers.items():
        track = Tracking(opener, name, say=told.append, close_seconds=0.2 if name == "hangs" else 9)
        found, own = run(tmp_path / name, track)
        assert found.equals(table), name
        assert all(torch.equal(own[key], state[key]) for key in state), name
    late.set()
    assert told == [
        "warning: --track broken: OSError: [Errno 28] No space left on device; training goes on "
        "without it",
        "warning: --track raises: SystemExit: 1; training goes on without it",
        "warning: --track hangs: it did not finish within 0.2 s; training goes on without it",
    ]
    assert kept.closed
    losses = [step for values, step in kept.got if "loss/median" in values]
    assert losses == [1, 2, 3, 4, 5, 6]
    values, step = kept.got[-1]
    assert step == 6
    alone = table.filter(
        (polars.col("measure") == "accuracy")
        & (polars.col("weights") == "ema")
        & (polars.col("length") == 6)
    )
    assert values["accuracy/ema-0.5/length-6"] == alone["value"].mean()
    on_the_way = [values for values, step in kept.got if step == 3 and "loss/median" not in values]
    assert any(name.startswith("accuracy/raw/length-") for name in on_the_way[0])


def test_a_tracker_that_falls_behind_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls never wait for it."""
    monkeypatch.setattr("lengthwise.tracking._background.MOST_WAITING", 5)
    go, told = threading.Event(), []

    def slow() -> Kept:
        go.wait()
        return Kept()

    track = Tracking(slow, "slow", say=told.append)
    for step in range(20):
        track.log({"loss": 1.0}, step)
    track.close()
    go.set()
    assert told == ["warning: --track slow: it is 5 calls behind; training goes on without it"]


def test_diverged_models_are_left_out() -> None:
    """Trackers get no number that is none."""
    assert of_losses([1.0, NAN, 3.0]) == {"loss/median": 3.0, "loss/model-0": 1.0,
                                          "loss/model-2": 3.0}  # fmt: skip
    assert of_losses([NAN]) == {}
    assert of_losses([2.0]) == {"loss/median": 2.0}
    rows = {"model": [0, 1], "diverged": [None, 3], "weights": ["raw"] * 2, "ema_power": [None] * 2,
            "bias_power": [None] * 2, "length": [7] * 2, "measure": ["tvd"] * 2,
            "value": [0.25, 0.75]}  # fmt: skip
    assert of_measures(polars.DataFrame(rows)) == {"tvd/raw/length-7": 0.25}


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the command that installs it, before anything is made."""
    monkeypatch.setattr("lengthwise.tracking._base.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"track = 'wandb': expected .*: pip install wandb"):
        start("wandb", tmp_path, "run", {})
    with pytest.raises(
        InputError, match=r"track = 'mlflow': expected .*: pip install mlflow-skinny"
    ):
        require_tracker("mlflow")
    with pytest.raises(InputError, match="track = 'tensorbored': did you mean 'tensorboard'"):
        require_tracker("tensorbored")
    assert not list(tmp_path.iterdir())


WRITES = """
import sys
from pathlib import Path
from lengthwise.tracking import start
told = []
config = {"recipe": {"steps": 3}, "list": [1, 2]}
with start(sys.argv[1], Path(sys.argv[2]), "run", config) as track:
    track._say = told.append
    for step in (1, 2, 3):
        track.log({"loss/median": 1.0 / step, "tvd/raw/length-8": 0.5}, step)
print(told)
"""


@pytest.mark.parametrize("tracker", sorted(TRACKERS))
def test_each_one_writes_where_it_should(tracker: str, tmp_path: Path) -> None:
    """For real and offline, in a process of its own, as trackers leave much behind."""
    if importlib.util.find_spec(TRACKERS[tracker].module) is None:
        pytest.skip(f"{TRACKERS[tracker].package} is not installed")
    done = subprocess.run(
        [sys.executable, "-c", WRITES, tracker, str(tmp_path)], capture_output=True, text=True,
        timeout=200, check=True,
    )  # fmt: skip
    assert done.stdout.strip().splitlines()[-1] == "[]", done.stderr
    folder = tmp_path / "track" / tracker
    assert any(file.is_file() for file in folder.rglob("*"))
    if tracker == "tensorboard":
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(folder)).Reload()
        assert [(one.step, one.value) for one in events.Scalars("loss/median")] == [
            (step, pytest.approx(1 / step)) for step in (1, 2, 3)
        ]
    if tracker == "mlflow" and (folder / "mlflow.db").is_file():
        import sqlite3

        rows = sqlite3.connect(folder / "mlflow.db").execute(
            "select step, value from metrics where key = 'loss/median' order by step"
        )
        assert rows.fetchall() == [(step, pytest.approx(1 / step)) for step in (1, 2, 3)]
    if tracker == "trackio":
        import sqlite3

        count = sqlite3.connect(folder / "lengthwise.db").execute("select count(*) from metrics")
        assert count.fetchone() == (3,)
