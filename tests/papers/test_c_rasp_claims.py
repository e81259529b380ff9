"""The claims on C-RASP: their rules on made-up tables, and the whole at quick scale."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.c_rasp import cells
from lengthwise.papers.c_rasp.languages import plan as languages
from lengthwise.papers.c_rasp.tasks import plan as tasks
from lengthwise.randomness import address

Value = Callable[[str, int], float]
"""Exact match of a run's label in a bin."""


def made_up(name: str, value: Value, tmp_path: Path) -> Results:
    """Results of a claim's experiment with these values, and a little noise."""
    plan = CLAIMS[name].experiment.plan("laptop")
    tables = {}
    for label, run in plan.items():
        trained = run.recipe.max_train_length
        rows = [
            (one.seed, length, measure, _noisy(value(label, (length - 1) // trained), label, one))
            for one in run.hyperparameters
            for length in run.recipe.test_lengths
            for measure in ("exact_match", "legal_set_match")
        ]
        frame = polars.DataFrame(rows, schema=["seed", "length", "measure", "value"], orient="row")
        tables[label] = frame.with_columns(diverged=polars.lit(None, polars.Int64))
    return Results("laptop", plan, tables, tmp_path)


def _noisy(value: float, label: str, one: object) -> float:
    noise = np.random.default_rng(address(label, str(one)) % 2**63).normal()
    return value * (1 + 1e-3 * noise)


def published(table: cells.Cells) -> Value:
    """What the paper says; where that is not at hand, what a program would give."""

    def value(label: str, bin: int) -> float:
        cell = table.cells.get(label)
        if cell is None:  # a norm that changes nothing
            return value(label.rsplit("-", 1)[0], bin)
        carries = 1.0 if cell.program or bin == 0 else 0.2
        # In range all are learned: the gate has a test of its own.
        return max(0.95, carries) if bin == 0 else _at(cell.published, bin, carries)

    return value


def _at(found: tuple[float, ...] | None, bin: int, otherwise: float) -> float:
    return otherwise if found is None else found[bin] / 100


TABLES = {"c-rasp/tasks-with-positions": tasks.CELLS, "c-rasp/tasks-without-positions": tasks.CELLS,
          "c-rasp/languages-with-positions": languages.CELLS,
          "c-rasp/languages-without-positions": languages.CELLS}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_published_tables_separate_what_has_a_program(name: str, tmp_path: Path) -> None:
    results = made_up(name, published(TABLES[name]), tmp_path)
    assert CLAIMS[name].judge(results).outcome == "holds"


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("program", [True, False])
def test_one_cell_on_the_wrong_side_is_enough_to_fail(
    name: str, program: bool, tmp_path: Path
) -> None:
    table, positions = TABLES[name], "none" if "without" in name else "offset"
    said = published(table)
    planned = CLAIMS[name].experiment.plan("laptop")
    label = next(
        label
        for label, cell in table.cells.items()
        if (cell.positions, cell.program) == (positions, program) and label in planned
    )

    def value(one: str, bin: int) -> float:
        return (0.0 if program else 1.0) if one == label and bin == 2 else said(one, bin)

    assert CLAIMS[name].judge(made_up(name, value, tmp_path)).outcome == "fails"


def test_models_that_did_not_learn_do_not_count(tmp_path: Path) -> None:
    name = "c-rasp/tasks-with-positions"
    said = published(tasks.CELLS)

    def value(label: str, bin: int) -> float:
        return 0.5 if label == "sort-offset" and bin == 0 else said(label, bin) * (bin < 2)

    results = made_up(name, value, tmp_path)
    assert tasks.CELLS.learned(results, "sort-offset") == set()
    assert tasks.CELLS.of_learned(results, "sort-offset", 2) == {}
    assert len(tasks.CELLS.of_learned(results, "majority-offset", 2)) == 4
    row = next(
        row
        for row in cells.table(results, tasks.CELLS, "t", "").rows
        if row[:2] == ["sort", "learned, random start"]
    )
    assert row[3] == "0 of 4"
    assert row[5:7] == ["", ""], "what was not learned says nothing beyond"


@pytest.mark.parametrize(
    ("name", "upper"),
    [("unique-over-repeat", "unique-copy-offset"), ("copy-needs-positions", "unique-copy-offset"),
     ("periods-need-positions", "aa-star-offset")],
)  # fmt: skip
@pytest.mark.parametrize(("far", "outcome"), [(0.9, "holds"), (0.1, "fails")])
def test_orderings_follow_the_cells(
    name: str, upper: str, far: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, bin: int) -> float:
        return 0.99 if bin == 0 else far if label == upper else 0.1

    results = made_up(f"c-rasp/{name}", value, tmp_path)
    assert CLAIMS[f"c-rasp/{name}"].judge(results).outcome == outcome


@pytest.mark.parametrize(("far", "outcome"), [(0.6, "holds"), (0.99, "fails")])
def test_parity_must_be_lost_with_and_without_positions(
    far: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, bin: int) -> float:
        return far if bin == 2 and label == "parity-none" else 0.99 if bin == 0 else 0.5

    results = made_up("c-rasp/parity", value, tmp_path)
    assert CLAIMS["c-rasp/parity"].judge(results).outcome == outcome


@pytest.mark.parametrize(("name", "end"), [("norm-lifts", "-norm"), ("post-ln-lifts", "-post")])
@pytest.mark.parametrize(("lift", "outcome"), [(0.2, "holds"), (0.0, "fails")])
def test_a_lift_is_read_between_one_and_two_times(
    name: str, end: str, lift: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, bin: int) -> float:
        # Gains in range or further out, and those of the other variant, must not count.
        if bin != 1:
            return 0.99 if bin == 0 else 0.5 * label.endswith(end)
        return 0.3 + lift if label.endswith(end) else 0.3

    results = made_up(f"c-rasp/{name}", value, tmp_path)
    assert CLAIMS[f"c-rasp/{name}"].judge(results).outcome == outcome


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    out = tmp_path_factory.mktemp("c-rasp")
    claims = [one for one in find_claims("c-rasp") if one.experiment.name != "c-rasp-languages"]
    return reproduce(claims, "quick", out, ["test"], lambda progress: None)


def test_the_tasks_run_whole_at_quick_scale(quick: Reproduction) -> None:
    assert len(quick.verdicts) == 7
    assert {one.name for one in quick.pictures} == {"tasks", "tasks-by-length", "norms"}
    (table,) = quick.tables
    assert len(table.rows) == len(tasks.CELLS.cells)
    assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.slow
def test_the_languages_run_whole_at_quick_scale(tmp_path: Path) -> None:
    claims = [one for one in find_claims("c-rasp") if one.experiment.name == "c-rasp-languages"]
    done = reproduce(claims, "quick", tmp_path, ["test"], lambda progress: None)
    assert len(done.tables[0].rows) == len(languages.CELLS.cells)
