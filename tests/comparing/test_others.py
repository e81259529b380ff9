"""Records of other people: taken over if they are true, and trained again."""

from pathlib import Path

import polars
import pytest
from comparing.small import own_remedy, small_study, trained

from lengthwise.comparing import StudyFolder
from lengthwise.comparing.others import add, verify
from lengthwise.comparing.records import digest, to_bytes
from lengthwise.errors import InputError


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return trained(tmp_path_factory.mktemp("mine") / "study", small_study(("alibi",), ("sort",), 1))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("theirs")
    remedies = ("alibi", str(own_remedy(folder)))
    return trained(folder / "study", small_study(remedies, ("sort",), 2))


def copied(folder: StudyFolder, path: Path, records: polars.DataFrame) -> StudyFolder:
    made = StudyFolder.create_or_open(path, folder.study, [])
    made.add(to_bytes(records))
    return made


def test_a_friends_remedy_stands_beside_the_others(
    mine: StudyFolder, theirs: StudyFolder, tmp_path: Path
) -> None:
    folder = copied(mine, tmp_path / "copy", mine.records())
    before = len(folder.records())
    assert add(folder, theirs.path) == len(theirs.records()) - before
    assert [entry.name for entry in folder.study.entries] == ["rotary", "alibi", "mine"]
    assert add(folder, theirs.path) == 0, "nothing twice"
    assert StudyFolder.open(folder.path).study == folder.study


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [0.5] * 3}, "digest = .*the record was changed"),
        ({"seed": 7}, "digest = .*the record was changed"),
        ({"lengthwise": "0.1.0"}, "lengthwise = '0.1.0': expected"),
        ({"rules": 0}, "rules = 0: expected 1"),
        ({"recipe": "{}"}, "cell = .*the record was changed"),
    ],
)
def test_a_record_that_is_not_what_it_says(
    mine: StudyFolder, theirs: StudyFolder, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    row = theirs.records().row(0, named=True)
    if "value" in change:
        change = {"value": [0.5, *row["value"][1:]]}
    changed = row | change
    if "recipe" in change:  # somebody who knows how digests are made
        changed["digest"] = digest(changed)
    table = polars.DataFrame([changed], schema=theirs.records().schema)
    source = copied(theirs, tmp_path / "changed", table)
    target = copied(mine, tmp_path / "copy", mine.records())
    before = (target.path / "study.json").read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        add(target, source.path)
    assert "\n" not in str(caught.value)
    assert (target.path / "study.json").read_bytes() == before
    assert len(target.records()) == len(mine.records())


def test_a_cell_of_another_study(mine: StudyFolder, theirs: StudyFolder, tmp_path: Path) -> None:
    other = trained(tmp_path / "other", small_study(("alibi",), ("unique-copy",), 1))
    source = copied(theirs, tmp_path / "mixed", other.records())
    with pytest.raises(InputError, match="expected a cell of its own study"):
        add(copied(mine, tmp_path / "copy", mine.records()), source.path)


def test_another_study_is_not_added(mine: StudyFolder, tmp_path: Path) -> None:
    other = trained(tmp_path / "other", small_study(("alibi",), ("sort",), 1, rates=(1e-4,)))
    with pytest.raises(InputError, match="rates = "):
        add(mine, other.path)
    with pytest.raises(InputError, match="a study folder"):
        add(mine, tmp_path)


def test_what_is_recorded_comes_out_again_bit_for_bit(theirs: StudyFolder) -> None:
    found = list(verify(theirs, 3))
    assert len(found) == 3
    assert all(one.holds and one.exact and one.largest == 0 for one in found)


def test_a_number_that_does_not_come_out_is_found(theirs: StudyFolder, tmp_path: Path) -> None:
    rows = []
    for row in theirs.records().iter_rows(named=True):
        changed = row | {"value": [value + 0.25 for value in row["value"]]}
        rows.append(changed | {"digest": digest(changed)})
    table = polars.DataFrame(rows, schema=theirs.records().schema)
    (found,) = verify(copied(theirs, tmp_path / "forged", table), 1)
    assert not found.holds
    assert found.largest == pytest.approx(0.25, abs=1e-3)


def test_elsewhere_numbers_may_differ_a_little(theirs: StudyFolder, tmp_path: Path) -> None:
    rows = []
    for row in theirs.records().iter_rows(named=True):
        values = [value + 0.01 for value in row["value"]]
        changed = row | {"value": values, "processor": "another one"}
        rows.append(changed | {"digest": digest(changed)})
    table = polars.DataFrame(rows, schema=theirs.records().schema)
    (found,) = verify(copied(theirs, tmp_path / "elsewhere", table), 1)
    assert found.holds
    assert not found.exact


def test_more_cells_than_there_are_is_all_of_them(mine: StudyFolder) -> None:
    assert len(list(verify(mine, 1000))) == len(mine.records())
    with pytest.raises(InputError, match="verify = 0: expected at least 1"):
        next(verify(mine, 0))


def test_cells_of_the_committed_study_keep_their_names() -> None:
    """A field that a recipe or a task got later must not make a study train all of it again."""
    place = Path(__file__).parents[2] / "docs/results/compare"
    folder = StudyFolder.open(place)
    done = set(folder.records()["cell"].to_list())
    assert len(done) == 576
    assert list(folder.study.jobs(done)) == []
