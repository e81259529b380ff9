"""Readings of runs that differ in one thing."""

from pathlib import Path

import polars
import pytest

from lengthwise.claims import Results
from lengthwise.claims import arms as read


def results(rows: list[tuple[int, int, float]], folder: Path) -> Results:
    """Results of one run, `one`, out of seed, length and value."""
    table = polars.DataFrame(rows, schema=["seed", "length", "value"], orient="row").with_columns(
        measure=polars.lit("accuracy"),
        weights=polars.lit("raw"),
        diverged=polars.lit(None, polars.Int64),
    )
    averaged = table.with_columns(weights=polars.lit("ema"), value=polars.lit(-1.0))
    return Results("quick", {}, {"one": polars.concat([table, averaged])}, folder)


ROWS = [
    *((0, 10, 1.0), (0, 20, 0.95), (0, 40, 0.5), (0, 80, 0.95)),
    *((1, 10, 0.5), (1, 20, 0.95), (1, 40, 0.95), (1, 80, 0.95)),
    *((2, 10, 1.0), (2, 20, 1.0), (2, 40, 1.0), (2, 80, 1.0)),
]


def test_reach_ends_at_the_first_length_that_fails(tmp_path: Path) -> None:
    assert read.reach(results(ROWS, tmp_path), "one", "accuracy", 0.9) == {0: 20, 1: 0, 2: 80}


def test_only_raw_weights_of_models_that_learned_count(tmp_path: Path) -> None:
    found = results(ROWS, tmp_path)
    assert read.learned(found, ["one"], "accuracy", 10, 0.9) == [0, 2]
    means = read.between(found, "one", "accuracy", 20, 40)
    assert means == pytest.approx({0: 0.725, 1: 0.95, 2: 1.0})


def test_diverged_models_are_left_out(tmp_path: Path) -> None:
    found = results(ROWS, tmp_path)
    lost = polars.when(polars.col("seed") == 2).then(7).alias("diverged")
    found.tables["one"] = found.tables["one"].with_columns(lost)  # type: ignore[index]
    assert read.learned(found, ["one"], "accuracy", 10, 0.9) == [0]


def test_gains_are_paired_and_of_the_given_seeds_alone() -> None:
    found = read.gain("gain", {0: 1.0, 1: 5.0, 2: 2.0}, {0: 0.5, 1: 0.0, 2: 1.5}, [0, 2], 0.1)
    assert (found.estimate.mean, found.estimate.count) == (0.5, 2)
    assert found.outcome == "holds"
    assert read.gain("gain", {}, {}, [], 0.1).outcome == "undecided"


def test_a_table_has_a_row_per_length_and_a_column_per_arm(tmp_path: Path) -> None:
    lines = {"one": read.Line("first", "#000000")}
    table = read.means_table(results(ROWS, tmp_path), lines, "accuracy", "t", "c", "items")
    assert table.columns == ["items", "first"]
    assert table.rows[1] == ["20", "96.7 ± 2.9"]
    assert [row[0] for row in table.rows] == ["10", "20", "40", "80"]
