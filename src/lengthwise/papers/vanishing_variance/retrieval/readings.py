"""What the claims on retrieval read out of the tables of runs."""

import math
from collections.abc import Sequence

import numpy as np
import polars

from lengthwise.claims import Results
from lengthwise.papers.vanishing_variance.retrieval import BASELINE, label
from lengthwise.runs.retrieval import RetrievalRecipe

LEAST_ACCURACY = 0.8
"""A model counts only if it has this accuracy at the longest training length; and the baseline is
said to break where it falls below this part of that. (Rules for judging the claim, ours.)"""

BEYOND = 4
"""The gain is read where the baseline breaks, and at this many times that length."""


def recipe_of(results: Results) -> RetrievalRecipe:
    """The recipe of one of the runs; they differ in task and norm only."""
    recipe = next(iter(results.plan.values())).recipe
    assert isinstance(recipe, RetrievalRecipe)
    return recipe


def lengths(results: Results) -> tuple[int, ...]:
    """The lengths that were measured."""
    return recipe_of(results).test_lengths


def readings(results: Results, task: str, variant: str, measure: str) -> polars.DataFrame:
    """One measure by seed and length: columns `seed`, `length`, `value`; diverged ones left out."""
    return (
        results.tables[label(task, variant)]
        .filter(polars.col("measure") == measure, polars.col("diverged").is_null())
        .select("seed", "length", "value")
        .sort("seed", "length")
    )


def at_length(
    results: Results, task: str, variant: str, measure: str, length: int
) -> dict[int, float]:
    """One measure at one length by seed."""
    rows = readings(results, task, variant, measure).filter(polars.col("length") == length)
    return dict(zip(rows["seed"].to_list(), rows["value"].to_list(), strict=True))


def learned(results: Results, task: str, variants: Sequence[str]) -> list[int]:
    """The seeds at which all of `variants` learned the task at its training lengths."""
    trained = recipe_of(results).train_length
    seeds = [
        {seed for seed, value in accuracies.items() if value >= LEAST_ACCURACY}
        for variant in variants
        for accuracies in [at_length(results, task, variant, "accuracy", trained)]
    ]
    return sorted(set.intersection(*seeds))


def breaking_lengths(results: Results, task: str) -> list[int]:
    """Where the baseline breaks, and four times that; the longest length where it never does."""
    trained = recipe_of(results).train_length
    seeds = learned(results, task, [BASELINE])
    means = {
        length: _mean(at_length(results, task, BASELINE, "accuracy", length), seeds)
        for length in lengths(results)
    }
    longest = lengths(results)[-1]
    first = next(
        (n for n, mean in means.items() if mean < LEAST_ACCURACY * means[trained]), longest
    )
    return sorted({first, min(BEYOND * first, longest)})


def paired(
    results: Results, task: str, variant: str, against: str, measure: str, length: int
) -> list[tuple[float, float]]:
    """A measure of both variants, seed by seed, where both learned the task."""
    ours = at_length(results, task, variant, measure, length)
    theirs = at_length(results, task, against, measure, length)
    return [(ours[seed], theirs[seed]) for seed in learned(results, task, [variant, against])]


def differences(
    results: Results, task: str, variant: str, against: str, measure: str, length: int
) -> list[float]:
    """By how much a measure is higher than with the other variant, seed by seed."""
    pairs = paired(results, task, variant, against, measure, length)
    return [ours - theirs for ours, theirs in pairs]


def log_ratios(
    results: Results, task: str, variant: str, against: str, measure: str, length: int
) -> list[float]:
    """The logarithm of the ratio of a measure to the other variant's, seed by seed."""
    pairs = paired(results, task, variant, against, measure, length)
    return [math.log(ours / theirs) for ours, theirs in pairs]


def fall(results: Results, task: str, variant: str, measure: str) -> list[float]:
    """The rate k at which a measure falls as 1/N^k, over all lengths, seed by seed."""
    rows = readings(results, task, variant, measure)
    return [
        -float(np.polyfit(np.log(own["length"]), np.log(own["value"]), 1)[0])
        for own in rows.partition_by("seed", maintain_order=True)
    ]


def _mean(values: dict[int, float], seeds: list[int]) -> float:
    return float(np.mean([values[seed] for seed in seeds])) if seeds else math.nan
