"""Readings of experiments whose runs differ in one thing and are paired by seed: their arms."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars

from lengthwise.claims._base import Finding, Results, Table
from lengthwise.claims.readings import alive, by_seed
from lengthwise.claims.statistics import estimate


class Line(NamedTuple):
    """How an arm is called and drawn."""

    title: str
    colour: str
    dashes: str = "-"
    marker: str = "o"


def readings(results: Results, label: str, measure: str) -> polars.DataFrame:
    """One measure of a run by seed and length, raw weights: columns `seed`, `length`, `value`."""
    rows = alive(results.tables[label], measure).filter(polars.col("weights") == "raw")
    return rows.select("seed", "length", "value").sort("seed", "length")


def between(results: Results, label: str, measure: str, first: int, last: int) -> dict[int, float]:
    """The mean of a measure over all measured lengths from `first` to `last`, by seed."""
    return by_seed(
        readings(results, label, measure).filter(polars.col("length").is_between(first, last))
    )


def learned(
    results: Results, labels: Sequence[str], measure: str, length: int, least: float
) -> list[int]:
    """The seeds at which all of these runs have at least `least` at a length of training."""
    seeds = [
        {seed for seed, value in between(results, label, measure, length, length).items()
         if value >= least}
        for label in labels
    ]  # fmt: skip
    return sorted(set.intersection(*seeds))


def reach(results: Results, label: str, measure: str, least: float) -> dict[int, int]:
    """The longest measured length up to which a measure stays at `least`, by seed; 0 if none."""
    found = {}
    for rows in readings(results, label, measure).partition_by("seed", maintain_order=True):
        good = (rows["value"] >= least).cast(polars.Int64).cum_prod()
        found[rows["seed"][0]] = int((rows["length"] * good).max())  # type: ignore[arg-type]
    return found


def gain(
    effect: str,
    ours: Mapping[int, float],
    theirs: Mapping[int, float],
    seeds: Sequence[int],
    smallest: float,
    *,
    decides: bool = True,
) -> Finding:
    """By how much one arm is above another, seed by seed."""
    return Finding(
        effect, estimate([ours[seed] - theirs[seed] for seed in seeds]), smallest, decides
    )


def means_table(
    results: Results, lines: Mapping[str, Line], measure: str, name: str, caption: str, unit: str,
    *, percent: bool = True,
) -> Table:  # fmt: skip
    """A row per length, a column per arm: mean and standard deviation over seeds.

    Args:
        results: What was measured.
        lines: The arms by their labels.
        measure: Which measure.
        name: The table's.
        caption: The table's.
        unit: What a length counts.
        percent: Whether the measure is a part of one, to be shown in %.
    """
    by_arm = {label: readings(results, label, measure) for label in lines}
    lengths = sorted({length for rows in by_arm.values() for length in rows["length"]})
    cells = [
        [
            mean_and_deviation(rows.filter(polars.col("length") == length)["value"], percent)
            for rows in by_arm.values()
        ]
        for length in lengths
    ]
    rows = [[str(length), *row] for length, row in zip(lengths, cells, strict=True)]
    return Table(name, caption, [unit, *(line.title for line in lines.values())], rows)


def mean_and_deviation(values: Sequence[float] | polars.Series, percent: bool = True) -> str:
    """Mean and standard deviation over seeds as a cell."""
    if len(values) == 0:
        return "diverged"
    sample = np.asarray(values, dtype=np.float64) * (100 if percent else 1)
    deviation = sample.std(ddof=1) if len(sample) > 1 else math.nan
    places = 1 if percent else 3
    return f"{sample.mean():.{places}f} ± {deviation:.{places}f}"
