"""The page and the tables of a study, made of its records."""

import csv
import json
from pathlib import Path

import polars
import pytest
from comparing.small import own_remedy, small_study, trained

from lengthwise.comparing import StudyFolder
from lengthwise.comparing.payload import command_of
from lengthwise.comparing.write import write_page
from lengthwise.errors import InputError

REMEDIES = ("alibi", "ema", "layout=post", "dropout", "test=yarn")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("written")
    study = small_study((*REMEDIES, str(own_remedy(folder, "<script>alert(1)</script>"))), seeds=1)
    made = trained(folder / "study", study)
    write_page(made)
    return made


def test_all_files_are_there_and_say_the_same(written: StudyFolder) -> None:
    reach = polars.read_csv(written.path / "reach.csv")
    names = [entry.name for entry in written.study.entries]
    assert reach["remedy"].to_list() == names
    cells = polars.read_csv(written.path / "cells.csv", infer_schema_length=None)
    kept = polars.read_parquet(written.path / "cells.parquet")
    assert cells.shape == kept.shape
    assert {*cells["task"]} == {"sort", "tomita-3"}
    assert {"chance", "length_only", "mean", "difference_low"} <= {*cells.columns}
    markdown = (written.path / "table.md").read_text().splitlines()
    assert len(markdown) == 2 + len(names)
    assert len({line.count("|") for line in markdown}) == 1
    latex = (written.path / "table.tex").read_text()
    assert latex.count(r"\\") == 1 + len(names)


def test_the_page_is_made_of_the_same_numbers_and_escapes_names(written: StudyFolder) -> None:
    page = (written.path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    data = page.split('id="data">')[1].split("</script>")[0]
    values = json.loads(data)
    assert [one["name"] for one in values["remedies"]] == [e.name for e in written.study.entries]
    assert values["made"]["done"] == values["made"]["planned"] == len(written.records())
    cell = next(c for c in values["cells"] if c["remedy"] == "alibi" and c["task"] == "sort")
    with (written.path / "cells.csv").open() as file:
        for row in csv.DictReader(file):
            if (row["remedy"], row["task"]) == ("alibi", "sort"):
                place = values["tasks"][0]["lengths"].index(int(row["length"]))
                mean = cell["scores"][row["measure"]]["mean"][place]
                assert (float(row["mean"]) if row["mean"] else None) == mean


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "half", small_study(seeds=1), most=1)
    folder = StudyFolder.open(tmp_path / "half")
    made = write_page(folder)["made"]
    assert (made["done"], made["planned"]) == (2, 8)
    assert "alibi on sort: 0 of 1 seeds" in made["missing"]


def test_a_page_before_anything_is_done(tmp_path: Path) -> None:
    folder = StudyFolder.create_or_open(tmp_path / "new", small_study(), [])
    with pytest.raises(InputError, match="nothing is recorded yet"):
        write_page(folder)
    assert not (folder.path / "page.html").exists()


def test_a_full_disk_keeps_the_old_page(
    written: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (written.path / "page.html").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left on device; nothing that was there"):
        write_page(written)
    assert (written.path / "page.html").read_bytes() == before


def test_the_command_of_a_cell_trains_that_very_model(written: StudyFolder, tmp_path: Path) -> None:
    """Its weights are those of the fleet, within rounding, so the measures are."""
    import shlex

    from lengthwise.cli import main
    from lengthwise.runs import RunFolder

    study, plan = written.study, written.study.plans[0]
    entry = next(one for one in study.entries if one.name == "dropout")
    shared = {name: getattr(study.hyperparameters, name) for name in ("warmup",)}
    words = shlex.split(command_of(entry, plan, study.rates[1], 1, shared))
    assert main([*words[1:], "--out", str(tmp_path / "run")]) == 0
    table = RunFolder.open(tmp_path / "run").table()
    found = table.filter(polars.col("weights") == "raw", polars.col("measure") == "accuracy").sort(
        "length"
    )
    cell = study.cells(entry, plan)[1, study.rates[1]]
    row = written.records().row(by_predicate=polars.col("cell") == cell, named=True)
    kept = {
        length: value
        for weights, step, length, measure, value in zip(
            *(row[name] for name in ("weights", "step", "length", "measure", "value")), strict=True
        )
        if (weights, step, measure) == ("raw", plan.recipe.steps, "accuracy")
    }
    assert found["length"].to_list() == sorted(kept)
    assert found["value"].to_list() == pytest.approx([kept[n] for n in sorted(kept)], abs=1e-4)
