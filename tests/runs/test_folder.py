"""A run folder tells what is wrong with it, in one line, and loses nothing."""

import json
import resource
import shutil
from pathlib import Path

import polars
import pytest
import torch

from lengthwise.averaging import AveragingError
from lengthwise.errors import InputError
from lengthwise.models import MinimalModel, SetReaderModel
from lengthwise.runs import RunFolder, execute, recipe_for
from lengthwise.runs.parallel import execute_all
from lengthwise.tasks import ArgmaxRetrieval, SetComplement
from lengthwise.training import Hyperparameters

RECIPE = recipe_for(
    SetComplement(6), MinimalModel(extra_width=1), max_train_length=3, steps=40, test_inputs=50
)
EVERY = (Hyperparameters(seed=0), Hyperparameters(seed=1, learning_rate=1e-2))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = RunFolder.create(tmp_path_factory.mktemp("run") / "run", RECIPE, EVERY, ["test"])
    execute(folder)
    return folder.path


@pytest.fixture
def finished(trained: Path, tmp_path: Path) -> RunFolder:
    """A finished run that a test may damage."""
    return RunFolder.open(shutil.copytree(trained, tmp_path / "run"))


def test_the_folder_explains_itself(finished: RunFolder) -> None:
    opened = RunFolder.open(finished.path)
    assert (opened.recipe, opened.hyperparameters) == (RECIPE, EVERY)
    description = json.loads((finished.path / "run.json").read_text())
    assert description["command"] == ["test"]
    assert set(description["version"]) == {"lengthwise", "torch", "commit"}
    assert "finished" in (finished.path / "log.txt").read_text()


def test_the_table_is_tidy_and_whole(finished: RunFolder) -> None:
    table = finished.table()
    key = ["model", "weights", "ema_power", "bias_power", "length", "measure"]
    assert len(table) == len(table.unique(key)) == 2 * 3 * 5 * 7
    assert set(table["weights"]) == {"raw", "ema", "bema"}
    assert set(table["length"]) == {1, 2, 3, 4, 5}
    assert table["value"].is_finite().all()
    raw = table.filter(weights="raw")
    assert raw["ema_power"].is_null().all()


def test_an_existing_run_is_never_overwritten_unasked(finished: RunFolder) -> None:
    before = (finished.path / "measures.parquet").read_bytes()
    with pytest.raises(InputError, match="does not exist yet"):
        RunFolder.create(finished.path, RECIPE, EVERY, [])
    assert (finished.path / "measures.parquet").read_bytes() == before
    RunFolder.create(finished.path, RECIPE, EVERY, [], overwrite=True)
    assert not (finished.path / "measures.parquet").exists()


def test_only_a_run_is_ever_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="expected a run folder"):
        RunFolder.create(tmp_path, RECIPE, EVERY, [], overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_run_in_use_is_refused(finished: RunFolder) -> None:
    # Locks belong to open files, not to processes: this is as from another process.
    with finished.locked(), pytest.raises(InputError, match="in use by another process"):
        execute(RunFolder.open(finished.path))
    execute(RunFolder.open(finished.path))


def test_another_version_is_refused(finished: RunFolder) -> None:
    file = finished.path / "run.json"
    description = json.loads(file.read_text())
    description["version"]["lengthwise"] = "0.0.1"
    file.write_text(json.dumps(description))
    (finished.path / "measures.parquet").unlink()
    with pytest.raises(InputError, match=r"version of .*'0.0.1': expected"):
        execute(RunFolder.open(finished.path))
    description["format"] = 99
    file.write_text(json.dumps(description))
    with pytest.raises(InputError, match=r"format of .* = 99: expected 2"):
        RunFolder.open(finished.path)


def test_a_folder_of_the_first_format_is_refused(tmp_path: Path) -> None:
    """As the version before this one wrote it."""
    old = {
        "format": 1, "version": {"lengthwise": "0.1.0"}, "command": ["lengthwise", "train"],
        "task": "set-complement", "recipe": {"vocab": 16, "train_length": 8},
        "members": [{"seed": 0}],
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(old))
    with pytest.raises(InputError, match=r"format of .* = 1: expected 2: another version") as error:
        RunFolder.open(tmp_path)
    assert len(str(error.value).splitlines()) == 1


def test_a_run_that_cannot_be_trained_leaves_no_folder(tmp_path: Path) -> None:
    sets = recipe_for(ArgmaxRetrieval(), SetReaderModel(width=4), test_lengths=(4,))
    for recipe, every, message in (
        (RECIPE, [], r"hyperparameters = \[\]: expected at least one model"),
        (sets, [Hyperparameters(embed_dropout=0.1)], "embed_dropout = 0.1: expected 0"),
    ):
        with pytest.raises(InputError, match=message):
            RunFolder.create(tmp_path / "run", recipe, every, [])
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_a_truncated_checkpoint_is_named_and_the_one_before_serves(
    tmp_path: Path, kept: int
) -> None:
    folder = RunFolder.create(tmp_path / "run", RECIPE, EVERY, [])
    trainer = RECIPE.trainer(EVERY)
    for step in (10, 20):
        while trainer.steps_done < step:
            trainer.step()
        folder.save_checkpoint(trainer.steps_done, trainer.state_dict())
    newest = folder.checkpoints()[-1]
    newest.write_bytes(newest.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"step-000000020\.safetensors is damaged"):
        execute(folder)
    newest.unlink()
    execute(folder)
    assert folder.finished


@pytest.mark.parametrize("kept", [0, 50, -1])
def test_a_truncated_table_is_named(finished: RunFolder, kept: int) -> None:
    path = finished.path / "measures.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    with pytest.raises(InputError, match=r"measures\.parquet is damaged"):
        finished.table()
    path.unlink()
    execute(finished)
    assert path.read_bytes() == whole


def test_a_table_of_something_else_is_named(finished: RunFolder) -> None:
    path = finished.path / "measures.parquet"
    whole = polars.read_parquet(path)
    wrong = {"weights": "last", "length": "long", "measure": 1, "value": None}
    tables = [whole.with_columns(polars.lit(value).alias(name)) for name, value in wrong.items()]
    tables += [whole.drop("value"), whole.head(0)]
    for name, table in zip((*wrong, "value", "value"), tables, strict=True):
        table.write_parquet(path)
        with pytest.raises(InputError, match=rf"measures\.parquet is damaged \(column {name} = "):
            finished.table()
    whole.write_parquet(path)
    assert finished.table().equals(whole)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", RECIPE, EVERY, [])
    trainer = RECIPE.trainer(EVERY)
    trainer.step()
    folder.save_checkpoint(trainer.steps_done, trainer.state_dict())
    # No file of this process may grow beyond 2 kB: writing the next checkpoint fails for real.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(InputError, match=r"cannot write .*nothing that was there"):
            folder.save_checkpoint(2, trainer.state_dict())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.newest_step() == 1
    assert sorted(p.name for p in (folder.path / "checkpoints").iterdir()) == [
        "step-000000001.safetensors"
    ]
    execute(folder)
    assert folder.finished


def test_averaged_weights_are_not_saved_as_live_ones(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", RECIPE, EVERY, [])
    trainer = RECIPE.trainer(EVERY)
    trainer.step()
    assert trainer.average is not None
    with trainer.average.applied_at(0, 0), pytest.raises(AveragingError):
        folder.save_checkpoint(trainer.steps_done, trainer.state_dict())


def test_old_checkpoints_are_dropped(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", RECIPE, EVERY, [])
    for step in range(5):
        folder.save_checkpoint(step, {"step": torch.tensor(step)})
    assert [path.stem for path in folder.checkpoints()] == ["step-000000003", "step-000000004"]


def test_several_runs_at_once_equal_one_by_one(tmp_path: Path) -> None:
    for name in ("alone", "first", "second"):
        RunFolder.create(tmp_path / name, RECIPE, EVERY, [])
    execute(RunFolder.open(tmp_path / "alone"))
    seen = []
    execute_all([tmp_path / "first", tmp_path / "second"], seen.append)
    assert {progress.name for progress in seen} == {"first", "second"}
    expected = RunFolder.open(tmp_path / "alone").table()
    for name in ("first", "second"):
        assert RunFolder.open(tmp_path / name).table().equals(expected)


def test_a_failing_worker_is_reported_in_one_line(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", RECIPE, EVERY, [])
    (folder.path / "checkpoints" / "step-000000009.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="is damaged"):
        execute_all([folder.path], lambda progress: None)
