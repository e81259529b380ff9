"""Studies on disk: stopped and resumed, extended, shared, and what is refused."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from comparing.small import MODEL, Inline, own_remedy, small_study, trained

from lengthwise.comparing import Study, StudyFolder, read, run
from lengthwise.comparing.entries import parse
from lengthwise.comparing.records import LISTS, digest, to_bytes
from lengthwise.comparing.run import predicted_seconds
from lengthwise.comparing.study import study_from_json
from lengthwise.comparing.work import POINTS, Work, cost
from lengthwise.errors import InputError
from lengthwise.progress import Progress
from lengthwise.tracking import Tracking

MEASURED = ["cell", "diverged", *LISTS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study that was never interrupted."""
    return trained(tmp_path_factory.mktemp("compare") / "whole", small_study())


def measured(folder: StudyFolder) -> polars.DataFrame:
    return folder.records().select(MEASURED).sort("cell")


def test_every_cell_is_recorded_once_with_all_its_measures(whole: StudyFolder) -> None:
    study = whole.study
    records = whole.records()
    assert len(records) == 2 * 2 * 2 * 2, "ema is read off models that are trained anyway"
    assert set(records["cell"]) == whole.study.planned()
    for row in records.iter_rows(named=True):
        assert row["digest"] == digest(row)
        assert {*row["weights"]} == {"raw", "ema", "bema"}
        assert len({*row["step"]}) == POINTS
        assert max(row["step"]) == study.plans[0].recipe.steps
        assert {*row["length"]} == {*study.plans[0].recipe.test_lengths}
        assert row["seconds"] > 0
        assert row["cost"] > 0


def test_stopped_anywhere_and_resumed_is_as_if_never_stopped(
    whole: StudyFolder, tmp_path: Path
) -> None:
    for _ in range(20):
        try:
            folder = trained(tmp_path / "stopped", small_study(), most=1)
            break
        except KeyboardInterrupt:
            continue
    assert measured(folder).equals(measured(whole))
    assert len(folder.files()) == len(whole.files()), "nothing twice"


def test_more_remedies_tasks_and_seeds_train_only_what_is_missing(
    whole: StudyFolder, tmp_path: Path
) -> None:
    path = tmp_path / "grown"
    trained(path, small_study(("alibi",), ("sort",), seeds=1))
    before = StudyFolder.open(path).records()
    told: list[Progress] = []
    folder = StudyFolder.create_or_open(path, small_study(), ["again"])
    run(folder, executor=Inline(), report=told.append)
    after = folder.records()
    assert (told[0].done, told[-1].done, told[-1].total) == (4, 16, 16)
    assert after.head(len(before)).equals(before), "what was there is as it was"
    assert set(after["cell"]) == set(whole.records()["cell"])
    run(folder, executor=Inline(most=0))  # nothing is left to do


def test_a_cell_is_the_same_in_any_company(whole: StudyFolder) -> None:
    """As a fleet is: within rounding."""
    job = next(iter(whole.study.jobs(set())))
    alone = replace(job, hyperparameters=job.hyperparameters[-1:])
    (found,) = polars.read_parquet(Work().do(alone)).iter_rows(named=True)
    recorded = whole.records().row(by_predicate=polars.col("cell") == found["cell"], named=True)
    assert found["measure"] == recorded["measure"]
    assert found["value"] == pytest.approx(recorded["value"], abs=1e-4, nan_ok=True)


def test_remedies_of_a_seed_see_the_same_data_and_begin_alike(whole: StudyFolder) -> None:
    jobs = [job for job in whole.study.jobs(set()) if job.recipe.task.name == "sort"]
    one, other = (job.recipe.trainer(job.hyperparameters) for job in jobs[:2])
    assert jobs[0].remedy != jobs[1].remedy
    batches = [trainer._batch(3) for trainer in (one, other)]
    assert batches[0].inputs.equal(batches[1].inputs)
    assert one.fleet.weights.equal(other.fleet.weights), "neither rotary nor alibi has weights"


def test_a_study_is_its_json(tmp_path: Path) -> None:
    study = small_study(("alibi+ema", str(own_remedy(tmp_path)), "layout=post", "test=yarn"))
    assert study_from_json(json.loads(json.dumps(study.to_json()))) == study


def test_many_files_become_one_and_nothing_changes(
    whole: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StudyFolder.create_or_open(tmp_path / "many", small_study(), [])
    for row in range(len(whole.records())):
        folder.add(to_bytes(whole.records()[row]))
    monkeypatch.setattr("lengthwise.comparing.folder.MOST_FILES", 3)
    with folder.locked():
        folder.gather()
    assert len(folder.files()) == 1
    assert measured(folder).equals(measured(whole))


def test_a_kill_while_files_are_gathered_leaves_each_cell_once(
    whole: StudyFolder, tmp_path: Path
) -> None:
    folder = StudyFolder.create_or_open(tmp_path / "twice", small_study(), [])
    folder.add(to_bytes(whole.records()))
    folder.add(to_bytes(whole.records().head(3)))
    assert measured(folder).equals(measured(whole))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rates": (1e-4,)}, "rates = .*as the study in this folder has it"),
        ({"seeds": 0}, "seeds = 0: expected 1..10000"),
        ({"rates": (1e-3, 1e-3)}, "rates = .*each once"),
    ],
)
def test_two_studies_in_one_folder(
    whole: StudyFolder, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        StudyFolder.create_or_open(whole.path, small_study(**changed), [])  # type: ignore[arg-type]


def test_another_task_or_remedy_of_the_same_name(whole: StudyFolder, tmp_path: Path) -> None:
    study = small_study()
    other = replace(study.plans[0], recipe=replace(study.plans[0].recipe, batch=5))
    with pytest.raises(InputError, match="tasks = 'sort': expected the task of that name"):
        whole.study.joined(replace(study, plans=(other,)))
    first = replace(study, entries=(study.baseline, parse(str(own_remedy(tmp_path)), MODEL)))
    second = parse(str(own_remedy(tmp_path, factor=3.0)), MODEL)
    with pytest.raises(InputError, match="remedies = 'mine': expected the remedy of that name"):
        first.joined(replace(study, entries=(study.baseline, second)))


def test_a_folder_with_other_things_in_it(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="this holds other files"):
        StudyFolder.create_or_open(tmp_path, small_study(), [])
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_a_damaged_file_of_records_is_named(whole: StudyFolder, tmp_path: Path) -> None:
    folder = StudyFolder.create_or_open(tmp_path / "damaged", small_study(), [])
    folder.add(to_bytes(whole.records()))
    (file,) = folder.files()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=f"{file.name} is damaged"):
        folder.records()


def test_two_processes_on_one_folder(whole: StudyFolder) -> None:
    with whole.locked(), pytest.raises(InputError, match="in use by another process"):
        run(StudyFolder.open(whole.path))


def test_a_remedy_that_does_not_fit_a_task_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(InputError, match="batchnorm on sort: "):
        small_study(("batchnorm",))


def test_it_says_beforehand_how_long_it_will_take(whole: StudyFolder) -> None:
    jobs = list(whole.study.jobs(set()))
    one, two = predicted_seconds(jobs, 1), predicted_seconds(jobs[:1], 1)
    assert one > 0
    assert two > 0


def test_the_cost_of_what_is_no_recipe_is_measured_too() -> None:
    """Dropout differs from the baseline in hyper-parameters alone."""
    jobs = {job.remedy: job for job in small_study(("dropout",), ("sort",), 1).jobs(set())}
    assert cost(jobs["rotary"]) == 1.0
    assert cost(jobs["dropout"]) != 1.0


def test_the_first_seeds_of_everything_come_first() -> None:
    study: Study = small_study(seeds=5)
    first = [min(one.seed for one in job.hyperparameters) for job in study.jobs(set())]
    assert first == sorted(first)


def test_a_reading_of_real_records(whole: StudyFolder) -> None:
    found = read(whole.study, whole.records())
    assert len(found.entries) == 3
    assert [len(own) for own in found.cells] == [3, 3]
    by_hand = whole.records().filter(polars.col("task") == "sort")
    assert found.tables[0].done.all()
    assert len(by_hand) == 8
    row = by_hand.row(0, named=True)
    place = [e.name for e in whole.study.entries].index(row["remedy"])
    last = [
        value
        for weights, step, length, measure, value in zip(*(row[n] for n in LISTS), strict=True)
        if (weights, step, measure) == ("raw", 8, "exact_match")
    ]
    rate = whole.study.rates.index(row["learning_rate"])
    assert found.tables[0].values["exact_match"][place, row["seed"] - 1, rate].tolist() == last


def test_a_tracker_gets_every_fleet(whole: StudyFolder, tmp_path: Path) -> None:
    """And changes nothing."""
    got: list[tuple[dict[str, float], int]] = []

    class Kept:
        def log(self, values: Mapping[str, float], step: int) -> None:
            got.append((dict(values), step))

        def close(self) -> None:
            pass

    folder = StudyFolder.create_or_open(tmp_path / "tracked", small_study(), [])
    with Tracking(Kept, "kept") as track:
        run(folder, executor=Inline(), track=track)
    assert measured(folder).equals(measured(whole))
    assert got[-1][1] == len(folder.records())
    name = next(name for values, _ in got for name in values)
    assert len(name.split("/")) == 5
    assert name.rpartition("/")[2].startswith("length-")
