"""What the claims on the recipe for addition read out of the tables of runs."""

import math
from collections.abc import Sequence

import numpy as np
import polars
from scipy import stats

from lengthwise.claims import Estimate, Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.not_robustly.addition import plan as runs


def in_range(results: Results, label: str) -> dict[int, float]:
    """Share of right sums over all training lengths that are measured, by seed."""
    return read.between(results, label, runs.MEASURE, 1, results.recipe.max_train_length)


def beyond(results: Results, label: str) -> dict[int, float]:
    """Mean share of right sums at the lengths beyond training that decide, by seed."""
    return read.between(results, label, runs.MEASURE, *runs.SIZES[results.scale].beyond)


def words(results: Results) -> str:
    """Where that is."""
    first, last = runs.SIZES[results.scale].beyond
    return f"at {first} digits" if first == last else f"at {first} to {last} digits"


def learned(results: Results, *labels: str) -> list[int]:
    """The seeds at which all of these arms learned the training lengths."""
    return read.learned(
        results, labels, runs.MEASURE, results.recipe.max_train_length, runs.LEAST
    )  # fmt: skip


def perfect(results: Results, label: str) -> list[int]:
    """The seeds whose model is perfect at every training length that is measured."""
    rows = read.readings(results, label, runs.MEASURE)
    within = rows.filter(polars.col("length") <= results.recipe.max_train_length)
    least = within.group_by("seed").agg(polars.col("value").min()).sort("seed")
    return [seed for seed, value in least.iter_rows() if value >= runs.PERFECT]


def worse_without(results: Results, label: str, what: str) -> list[Finding]:
    """What the recipe gains beyond training on an arm without one part.

    Decided at the seeds where the recipe learned its training lengths: an arm that did not learn
    them has failed, as the paper reports it. Where both learned, and in range, is shown.
    """
    ours, theirs = beyond(results, runs.RECIPE), beyond(results, label)
    near, nearby = in_range(results, runs.RECIPE), in_range(results, label)
    counts = [seed for seed in learned(results, runs.RECIPE) if seed in theirs]
    both = learned(results, runs.RECIPE, label)
    effect = f"share of right sums {words(results)}, the recipe minus {what}"
    return [
        read.gain(effect, ours, theirs, counts, runs.SMALLEST),
        read.gain(
            f"{effect}, both learned in range", ours, theirs, both, runs.SMALLEST, decides=False
        ),
        read.gain(
            f"the same in range, the recipe minus {what}", near, nearby, counts, runs.SMALLEST,
            decides=False,
        ),
    ]  # fmt: skip


def spread(values: Sequence[float]) -> Estimate:
    """Standard deviation of values with its 95 % interval, as if they were normal (chi-square)."""
    count = len(values)
    if count < 2:
        return Estimate(math.nan, -math.inf, math.inf, count)
    deviation = float(np.std(values, ddof=1))
    low, high = (
        deviation * math.sqrt((count - 1) / float(stats.chi2.ppf(part, count - 1)))
        for part in (0.975, 0.025)
    )
    return Estimate(deviation, low, high, count)
