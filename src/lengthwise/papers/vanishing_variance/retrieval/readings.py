"""What the claims on retrieval read out of the tables of runs."""

import math

import numpy as np
import polars

from lengthwise.claims import Finding, Results, estimate, once
from lengthwise.claims.readings import alive, by_seed, slope
from lengthwise.papers.vanishing_variance.retrieval.plan import BASELINE, label

LEAST_ACCURACY = 0.8
"""A model counts only if it has this accuracy at the longest training length; and the baseline is
said to break where it falls below this part of that. (Rules for judging the claim, ours.)"""

SMALLEST_GAIN = 0.01
"""A gain in accuracy by less than one point would not matter. Ours."""

BEYOND = 4
"""The gain is read where the baseline breaks, and at this many times that length."""


def lengths(results: Results) -> tuple[int, ...]:
    """The lengths that were measured."""
    return results.recipe.test_lengths


def readings(results: Results, task: str, variant: str, measure: str) -> polars.DataFrame:
    """One measure by seed and length: columns `seed`, `length`, `value`; diverged ones left out."""
    rows = alive(results.tables[label(task, variant)], measure)
    return rows.select("seed", "length", "value").sort("seed", "length")


def at_length(
    results: Results, task: str, variant: str, measure: str, length: int
) -> dict[int, float]:
    """One measure at one length by seed."""
    rows = readings(results, task, variant, measure)
    return by_seed(rows.filter(polars.col("length") == length))


@once
def learned(results: Results, task: str, variants: tuple[str, ...]) -> list[int]:
    """The seeds at which all of `variants` learned the task at its training lengths."""
    trained = results.recipe.max_train_length
    seeds = [
        {seed for seed, value in accuracies.items() if value >= LEAST_ACCURACY}
        for variant in variants
        for accuracies in [at_length(results, task, variant, "accuracy", trained)]
    ]
    return sorted(set.intersection(*seeds))


@once
def breaking_lengths(results: Results, task: str) -> list[int]:
    """Where the baseline breaks, and four times that; the longest length where it never does."""
    trained = results.recipe.max_train_length
    seeds = learned(results, task, (BASELINE,))
    means = {
        length: _mean(at_length(results, task, BASELINE, "accuracy", length), seeds)
        for length in lengths(results)
    }
    longest = lengths(results)[-1]
    first = next(
        (n for n, mean in means.items() if mean < LEAST_ACCURACY * means[trained]), longest
    )
    return sorted({first, min(BEYOND * first, longest)})


def differences(
    results: Results, task: str, variant: str, length: int, against: str = BASELINE
) -> list[float]:
    """By how much accuracy is higher than with the other variant, seed by seed.

    Only seeds count at which both learned the task.
    """
    ours, theirs = (at_length(results, task, one, "accuracy", length) for one in (variant, against))
    return [ours[seed] - theirs[seed] for seed in learned(results, task, (variant, against))]


def gain(
    effect: str, results: Results, task: str, variant: str, length: int, against: str = BASELINE,
    *, decides: bool = True,
) -> Finding:  # fmt: skip
    """How much accuracy a variant gains on another one."""
    gains = differences(results, task, variant, length, against)
    return Finding(effect, estimate(gains, level=results.level), SMALLEST_GAIN, decides)


def gains_on_the_way(
    results: Results, task: str, variant: str, length: int
) -> dict[int, dict[int, float]]:
    """How much accuracy a variant gains on the baseline, by step of training and by seed.

    Only seeds count at which both learned the task in the end.
    """
    seeds = learned(results, task, (variant, BASELINE))
    ours, theirs = (
        {
            **results.on_the_way[label(task, one)],
            results.recipe.steps: results.tables[label(task, one)],
        }
        for one in (variant, BASELINE)
    )
    found = {}
    for step in ours:
        above, below = (
            by_seed(alive(table[step], "accuracy").filter(polars.col("length") == length))
            for table in (ours, theirs)
        )
        found[step] = {seed: above[seed] - below[seed] for seed in seeds}
    return found


def fall(results: Results, task: str, variant: str, measure: str) -> list[float]:
    """The rate k at which a measure falls as 1/N^k, over all lengths, seed by seed."""
    rows = readings(results, task, variant, measure)
    return [
        -slope(own["length"], own["value"])
        for own in rows.partition_by("seed", maintain_order=True)
    ]


def _mean(values: dict[int, float], seeds: list[int]) -> float:
    return float(np.mean([values[seed] for seed in seeds])) if seeds else math.nan
