"""Records of other people: taken into a study after they were checked, and trained again."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars

from lengthwise.comparing.cells import Job
from lengthwise.comparing.folder import StudyFolder
from lengthwise.comparing.payload import SHOWN
from lengthwise.comparing.records import LISTS, processor, require_true, to_bytes, trained_by
from lengthwise.comparing.work import Work
from lengthwise.errors import InputError, require
from lengthwise.runs.description import hyperparameters_from_json, recipe_from_json
from lengthwise.runs.version import code_version

TOLERANCE = 0.1
"""How far measures at the training length may lie from the recorded ones where the processor, a
version or the order of sums differs (`ARITHMETIC`): rounding differs there, and training carries it
on. Ours."""


@dataclass(frozen=True)
class Verified:
    """A cell that was trained again."""

    told: str
    """Which one."""
    exact: bool
    """Whether all numbers had to be the same bit for bit."""
    largest: float
    """The largest difference of any number."""
    in_range: float
    """The largest difference of a measure at the training length."""
    holds: bool


def add(folder: StudyFolder, source: Path) -> int:
    """Take the records of another folder of the same study into this one.

    Args:
        folder: The study; whoever calls this does not hold its lock.
        source: The folder of another study with the same tasks, model and rules.

    Returns:
        How many records were new.

    Raises:
        InputError: A record was changed, is of another version or rules, or of a task, model or
            training that is not this study's. Nothing is taken over then.
    """
    other = StudyFolder.open(source)
    joined = folder.study.joined(other.study)
    records = other.records()
    require(len(records) > 0, "add", str(source), "a study with records")
    require_true(records, str(source))
    strange = records.filter(~polars.col("cell").is_in(list(joined.planned())))
    for row in strange.head(1).iter_rows(named=True):
        raise InputError(
            f"{source}: {row['remedy']} on {row['task']}, seed {row['seed']}: expected a cell of "
            "its own study: its task, model or training is another one"
        )
    with folder.locked():
        new = records.filter(~polars.col("cell").is_in(folder.records()["cell"].to_list()))
        folder._keep(joined)
        if len(new):
            folder.add(to_bytes(new))
        folder.log(f"{len(new)} records added from {source}")
    return len(new)


def verify(folder: StudyFolder, count: int, seed: int = 0) -> Iterator[Verified]:
    """Train random cells again, each with the fleet that it trained in.

    On the kind of processor and with the versions and the arithmetic that a record names, every
    number must be the same bit for bit; elsewhere the measures at the training length must agree
    within `TOLERANCE`.

    Args:
        folder: The study.
        count: How many cells; all if there are no more.
        seed: Of the choice.
    """
    require(count >= 1, "verify", count, "at least 1")
    records = folder.records()
    require(len(records) > 0, "verify", str(folder.path), "a study with records")
    require_true(records, str(folder.path))
    by_cell = {row["cell"]: row for row in records.iter_rows(named=True)}
    order = np.random.default_rng(seed).permutation(len(records))[:count]
    for place in order:
        yield _verified(records.row(int(place), named=True), by_cell)


def _verified(row: dict[str, Any], by_cell: dict[str, dict[str, Any]]) -> Verified:
    told = f"{row['remedy']} on {row['task']}, seed {row['seed']}, rate {row['learning_rate']:g}"
    beside = [by_cell[cell] for cell in row["fleet"] if cell in by_cell]
    if len(beside) < len(row["fleet"]):
        raise InputError(f"{told}: expected the records of all models that it trained beside")
    recipe = recipe_from_json(json.loads(row["recipe"]))
    given = hyperparameters_from_json([json.loads(one["hyperparameters"]) for one in beside])
    content = Work().do(Job(row["remedy"], row["task"], recipe, given, recipe, given))
    again = polars.read_parquet(content).row(
        by_predicate=polars.col("cell") == row["cell"], named=True
    )
    *places, _ = LISTS
    values = dict(
        zip(zip(*(again[name] for name in places), strict=True), again["value"], strict=True)
    )
    largest, in_range = 0.0, 0.0
    for *place, value in zip(*(row[name] for name in LISTS), strict=True):
        difference = _distance(values.get(tuple(place)), value)
        largest = max(largest, difference)
        if place[2] == recipe.max_train_length and place[3] in SHOWN:
            in_range = max(in_range, difference)
    now = {"processor": processor(), "lengthwise": trained_by()}
    now["torch"] = code_version()["torch"]
    exact = all(row[name] == value for name, value in now.items())
    holds = largest == 0 if exact else in_range <= TOLERANCE
    return Verified(told, exact, largest, in_range, holds)


def _distance(one: float | None, other: float) -> float:
    """Of two numbers; two that are none are the same."""
    if one is None or math.isnan(one) != math.isnan(other):
        return math.inf
    return 0.0 if math.isnan(other) else abs(one - other)
