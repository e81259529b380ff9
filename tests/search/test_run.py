"""A search as a whole: it resumes, grows, refuses what does not fit, and says how far it is."""

import json
import os
import shutil
import signal
from pathlib import Path

import polars
import pytest
from search.small import OWN, Inline, small_space

from lengthwise.errors import InputError
from lengthwise.progress import Progress
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LocalExecutor, SearchFolder, Space, load_space, search
from lengthwise.search.objective import ranked

TRIALS = 14


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SearchFolder:
    out = tmp_path_factory.mktemp("search") / "whole"
    return search(small_space(), TRIALS, out, executor=Inline(), command=["test"])


@pytest.fixture
def copy(finished: SearchFolder, tmp_path: Path) -> Path:
    path = tmp_path / "copy"
    shutil.copytree(finished.path, path)
    return path


def test_every_trial_once_and_its_values(finished: SearchFolder) -> None:
    table = finished.table()
    assert table["trial"].unique().sort().to_list() == list(range(TRIALS))
    assert len(table) == TRIALS * 3, "raw, EMA and BEMA"
    for row in table.iter_rows(named=True):
        for name, value in small_space().trial(0, row["trial"]).values.items():
            assert row[name] == (list(value) if isinstance(value, tuple) else value)
    assert finished.done() == set(range(TRIALS))


def test_the_folder_explains_itself(finished: SearchFolder) -> None:
    described = json.loads((finished.path / "search.json").read_text())
    assert described["seed"] == 0
    assert described["asked"] == [TRIALS]
    assert described["space"] == small_space().describe()
    assert {"lengthwise", "torch", "commit"} <= described["version"].keys()
    assert "finished" in (finished.path / "log.txt").read_text()


def test_a_finished_search_stays_as_it_is(copy: Path) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    told: list[Progress] = []
    search(small_space(), TRIALS, copy, report=told.append)
    assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert told[-1].done == told[-1].total == TRIALS
    assert told[-1].detail.startswith("best 0.")


def test_more_trials_extend_it(copy: Path, finished: SearchFolder) -> None:
    told: list[Progress] = []
    folder = search(small_space(), TRIALS + 6, copy, executor=Inline(), report=told.append)
    assert folder.done() == set(range(TRIALS + 6))
    assert folder.table().head(len(finished.table())).equals(finished.table())
    assert told[0].done == TRIALS
    assert folder.asked == [TRIALS, TRIALS + 6]
    with pytest.raises(InputError, match=f"trials = 3: expected at least {TRIALS + 6}"):
        search(small_space(), 3, copy)


def test_a_chunk_that_is_missing_is_run_again(copy: Path, finished: SearchFolder) -> None:
    folder = SearchFolder.open(copy)
    lost = folder.files()[1]
    content = lost.read_bytes()
    lost.unlink()
    (lost.parent / f".{lost.name}.x7f").write_bytes(content[:100])  # a write that a kill cut short
    assert 0 < len(folder.done()) < TRIALS
    search(small_space(), TRIALS, copy, executor=Inline())
    assert lost.read_bytes() == content, "bit for bit: the same fleet trained again"
    assert folder.table().equals(finished.table())


@pytest.mark.parametrize("harm", ["a flipped bit", "cut short", "empty"])
def test_a_damaged_chunk_is_named_and_nothing_is_run(copy: Path, harm: str) -> None:
    folder = SearchFolder.open(copy)
    chunk = folder.files()[1]
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0x10
    harmed = {"a flipped bit": content, "cut short": content[:-5], "empty": b""}
    chunk.write_bytes(harmed[harm])
    for use in (lambda: search(small_space(), TRIALS, copy), folder.table, folder.by_length):
        with pytest.raises(InputError, match=f"{chunk.name} is damaged: .* move the file away"):
            use()
    chunk.rename(copy / "damaged")
    assert search(small_space(), TRIALS, copy, executor=Inline()).done() == set(range(TRIALS))


def test_a_trial_that_is_there_twice_is_named(copy: Path) -> None:
    folder = SearchFolder.open(copy)
    chunk = folder.files()[0]
    shutil.copy(chunk, chunk.with_name(f"copy-{chunk.name.partition('-')[2]}"))
    with pytest.raises(InputError, match=r"chunks/.*: trial \d+ is recorded twice"):
        folder.done()


def test_other_tools_read_the_chunks_as_one_table(finished: SearchFolder) -> None:
    read = polars.read_parquet(finished.path / "chunks" / "*.parquet")
    table = finished.table()
    assert read.sort("trial", maintain_order=True).select(table.columns).equals(table)
    one = read.row(0, named=True)
    assert one["length"] == [1, 2, 3, 4, 5]
    assert len(one["tvd"]) == 5


@pytest.mark.parametrize(
    ("changes", "seed", "message"),
    [
        ({}, 1, "holds a search with seed 0, not 1"),
        (
            {"task.vocab": 7},
            0,
            r"another space: task.vocab was \{\"fixed\": 6\}, and is \{\"fixed\": 7\}",
        ),
        ({"weight_decay": 0.1}, 0, 'another space: weight_decay was "absent"'),
    ],
)
def test_a_folder_of_another_search_is_refused(
    copy: Path, changes: dict[str, object], seed: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        search(small_space(changes), TRIALS, copy, seed=seed)


def test_folders_that_hold_something_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files"):
        search(small_space(), 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match=r"a search folder, with a search\.json"):
        SearchFolder.open(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "search.json").write_text("{")
    with pytest.raises(InputError, match="damaged: expected the JSON of a search"):
        SearchFolder.open(broken)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("seed",), "0", "seed = '0': expected int"),
        (("asked",), [1.5], r"asked\[0\] = 1\.5: expected int"),
        (("asked",), [14, 3], r"asked = \[14, 3\]: expected numbers of trials that rise"),
        (("objective",), 5, "objective = 5"),
        (("objective",), "best", "objective = 'best': expected a measure within or beyond"),
        (("command",), "lengthwise", "command = 'lengthwise'"),
        (("version", "torch"), 2, "version.torch = 2: expected str"),
        (("space",), [], r"space = \[\]"),
        (("space", "hyperparameters"), 3, "space.hyperparameters = 3"),
        (("space", "hyperparameters"), {"steps": 3}, "space.hyperparameters"),
        (("format",), 1, "format of .* = 1: expected 2: another version of lengthwise wrote it"),
    ],
)
def test_a_damaged_description_is_one_line(
    copy: Path, path: tuple[str, ...], value: object, message: str
) -> None:
    file = copy / "search.json"
    described = json.loads(file.read_text())
    *outer, last = path
    inner = described
    for key in outer:
        inner = inner[key]
    inner[last] = value
    for _ in range(2):
        file.write_text(json.dumps(described))
        with pytest.raises(InputError, match=message) as error:
            SearchFolder.open(copy)
        assert "\n" not in str(error.value)
        assert str(file) in str(error.value)
        inner.pop(last, None)
        message = f"{last} is missing: the file is damaged"


def test_a_space_with_its_own_parts_locally_and_after_its_file_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "own_space.py"
    path.write_text(OWN.format(steps=5))
    space = load_space(path)
    folder = search(space, 12, tmp_path / "local", executor=LocalExecutor(1))
    whole = search(space, 12, tmp_path / "whole", executor=Inline())
    assert folder.table().equals(whole.table())
    models = folder.table()["model"].str.extract(r"^(\w+)").unique()
    assert set(models) == {"OwnSums", "MinimalModel"}
    assert folder.table()["model"].str.contains("space.py@").any(), "the remedy of the file"
    path.unlink()
    assert SearchFolder.open(folder.path).by_length().equals(whole.by_length())
    again = load_space(folder.path / "space.py")
    assert search(again, 16, folder.path, executor=Inline()).done() == set(range(16))


HALVED_KEYS = """
from lengthwise.remedies import Remedy, remedy

@remedy("my-halved-keys")
class HalvedKeys(Remedy):
    def queries_keys(self, queries, keys, read):
        return queries, keys / 2
"""


def test_trials_may_have_other_measures(tmp_path: Path) -> None:
    """A set reader whose keys are treated is not asked what its attention does."""
    recipe = recipe_for("argmax-retrieval", steps=2, test_lengths=(4, 32), test_inputs=4)
    (tmp_path / "halved.py").write_text(HALVED_KEYS)
    remedies = Choice((), (str(tmp_path / "halved.py"),))
    space = Space(recipe, {"model.remedies": remedies}, objective="accuracy_beyond")
    folder = search(space, 8, tmp_path / "s", executor=Inline())
    table = folder.table()
    assert table["accuracy_beyond"].null_count() == 0
    assert 0 < table["entropy_beyond"].null_count() < len(table)
    assert 0 < table["tvd_beyond"].null_count() < len(table)
    lengths = folder.by_length()
    assert set(lengths["length"]) == {4, 32}
    assert len(lengths) == 2 * len(table)
    assert folder.done() == set(range(8))


def test_a_bad_space_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_train_length"):
        search(small_space({"max_train_length": Choice(17, 18)}), 2, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_search_in_use_is_not_touched(copy: Path) -> None:
    folder = SearchFolder.open(copy)
    assert not folder.in_use()
    with folder.locked():
        with pytest.raises(InputError, match="in use by another process"):
            search(small_space(), TRIALS, copy)
        assert folder.in_use()


def test_one_that_diverges_is_a_result(tmp_path: Path) -> None:
    space = small_space({"learning_rate": 1e30, "grad_clip": 0.0, "warmup": 0})
    table = search(space, 2, tmp_path / "wild", executor=Inline()).table()
    assert table["trial"].n_unique() == 2
    assert (table["diverged"] >= 0).all()
    assert ranked(table, "tvd_beyond").is_empty()


def test_a_worker_that_is_killed_is_replaced(copy: Path, tmp_path: Path) -> None:
    """The second of two chunks loses its worker; all the same every trial comes, once."""
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if len(told) == 3:
            for child in _children():
                os.kill(child, signal.SIGKILL)

    space = small_space({"steps": 200})
    out = tmp_path / "killed"
    folder = search(space, 4, out, executor=LocalExecutor(1), report=report)
    whole = search(space, 4, tmp_path / "whole", executor=Inline())
    assert len(told) > 3
    assert folder.table().equals(whole.table())


def _children() -> list[int]:
    """The worker processes of this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(status[1]) == os.getpid() and b"spawn_main" in words:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("objective", ["tvd_beyond", "kl_within"])
def test_the_best_is_the_least(finished: SearchFolder, objective: str) -> None:
    table = finished.table()
    best = ranked(table, objective)
    assert best[objective].is_sorted()
    assert best[objective][0] == table[objective].min()
    least = table.group_by("trial").agg(polars.col(objective).min()).sort(objective)
    assert best[objective].to_list() == least[objective].to_list()


def test_of_accuracy_the_best_is_the_greatest(copy: Path, finished: SearchFolder) -> None:
    told: list[Progress] = []
    space = small_space(objective="accuracy_beyond")
    folder = search(space, TRIALS + 4, copy, executor=Inline(), report=told.append)
    table = folder.table()
    assert table["accuracy_beyond"].n_unique() > 1
    greatest = ranked(table, "accuracy_beyond")["accuracy_beyond"]
    assert greatest[0] == table["accuracy_beyond"].max()
    assert greatest.is_sorted(descending=True)
    assert f"best {greatest[0]:.4f}" in told[-1].detail


def test_an_objective_that_is_not_measured_writes_nothing(tmp_path: Path) -> None:
    space = Space(recipe_for("argmax-retrieval", test_lengths=(4, 32)), {"warmup": Choice(1, 2)})
    with pytest.raises(InputError, match=r"objective = 'tvd_beyond': .*accuracy_beyond"):
        search(space, 2, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_objective_needs_no_other_trials(copy: Path, finished: SearchFolder) -> None:
    told: list[Progress] = []
    folder = search(small_space(objective="kl_beyond"), TRIALS, copy, report=told.append)
    assert folder.table().equals(finished.table())
    assert SearchFolder.open(copy).objective == "kl_beyond"
    assert f"{finished.table()['kl_beyond'].min():.4f}" in told[-1].detail
    with pytest.raises(InputError, match="objective = 'tdv_beyond': did you mean 'tvd_beyond'"):
        search(small_space(objective="tdv_beyond"), TRIALS, copy)
