"""What is measured on the way, and measuring that is stopped: neither changes a number."""

from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from lengthwise.errors import InputError
from lengthwise.models import SetReaderModel
from lengthwise.runs import Interrupted, RunFolder, execute, recipe_for
from lengthwise.runs.table import measure_table
from lengthwise.tasks import ArgmaxRetrieval
from lengthwise.training import Hyperparameters

RECIPE = recipe_for(
    ArgmaxRetrieval(4), SetReaderModel(width=8, remedies=("layernorm",)), steps=30, batch=4,
    test_lengths=(16, 32, 64), test_inputs=64, test_items=1024, test_remedies=("adaptive",),
    test_steps=(10, 20),
)  # fmt: skip
MODELS = tuple(Hyperparameters(seed=seed, ema_powers=(), bias_powers=()) for seed in range(2))


def made(path: Path, **changes: object) -> RunFolder:
    return RunFolder.create(path, replace(RECIPE, **changes), MODELS, [])  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = made(tmp_path_factory.mktemp("whole") / "run")
    execute(folder)
    return folder


def test_what_is_read_on_the_way_is_what_a_shorter_training_ends_with(
    whole: RunFolder, tmp_path: Path
) -> None:
    for step, found in whole.tables_at().items():
        trainer = replace(RECIPE, steps=step, test_steps=()).trainer(MODELS)
        trainer.run(lambda trainer: None)
        few = replace(RECIPE, test_inputs=4, test_items=64, test_remedies=())
        assert_frame_equal(found, measure_table(few, trainer))


def test_reading_on_the_way_changes_nothing(whole: RunFolder, tmp_path: Path) -> None:
    plain = made(tmp_path / "run", test_steps=())
    execute(plain)
    assert plain.tables_at() == {}
    assert_frame_equal(plain.table(), whole.table())


@pytest.mark.parametrize("asked", [1, 9, 11, 20, 21, 31, 32, 34, 36])
def test_stopped_and_resumed_is_the_same(whole: RunFolder, tmp_path: Path, asked: int) -> None:
    """Stopped at every kind of moment: training, on the way, and between parts of the measures."""
    folder = made(tmp_path / "run")
    times = 0

    def stop() -> bool:
        nonlocal times
        times += 1
        return times >= asked

    with pytest.raises(Interrupted):
        execute(folder, stop=stop)
    if asked > 30:
        assert list(folder.path.glob("measured-*.parquet"))
    execute(folder)
    assert_frame_equal(folder.table(), whole.table())
    for step, table in whole.tables_at().items():
        assert_frame_equal(folder.tables_at()[step], table)
    assert not list(folder.path.glob("measured-*.parquet"))


def test_parts_that_are_measured_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "run")
    times = 0

    def stop() -> bool:
        nonlocal times
        times += 1
        return times > 33

    with pytest.raises(Interrupted):
        execute(folder, stop=stop)
    (kept,) = folder.path.glob("measured-*.parquet")
    done = int(kept.stem.removeprefix("measured-"))
    parts = []
    own = type(RECIPE).measure_part

    def counted(self, part, *others):
        parts.append(part)
        return own(self, part, *others)

    monkeypatch.setattr(type(RECIPE), "measure_part", counted)
    execute(folder)
    assert parts == RECIPE.test_parts()[done:]
    assert 0 < done < len(RECIPE.test_parts()) == 6


def test_steps_that_are_not_on_the_way_are_refused() -> None:
    for step in (0, 30, 31):
        with pytest.raises(InputError, match=f"test_steps = {step}: expected steps before"):
            replace(RECIPE, test_steps=(step,))
