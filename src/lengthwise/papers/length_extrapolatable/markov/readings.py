"""What the claims on positions read out of the tables of runs."""

from lengthwise.claims import Finding, Results, estimate
from lengthwise.claims import arms as read
from lengthwise.papers.length_extrapolatable.markov import plan as runs


def learned(results: Results, *arms: str) -> list[int]:
    """The seeds at which all of these arms are near the source at the training length."""
    seeds = [
        {seed for seed, value in in_range(results, arm).items() if value <= runs.MOST_IN_RANGE}
        for arm in arms
    ]
    return sorted(set.intersection(*seeds))


def in_range(results: Results, arm: str) -> dict[int, float]:
    """Distance from the source at the longest training length, by seed."""
    return read.between(results, arm, runs.MEASURE, runs.TRAINED, runs.TRAINED)


def beyond(results: Results, arm: str, measure: str) -> dict[int, float]:
    """Mean distance from the source from 2 to 16 times the training length, by seed."""
    return read.between(results, arm, measure, *runs.BEYOND)


def words() -> str:
    """Where that is."""
    return f"{runs.BEYOND[0]} to {runs.BEYOND[1]} tokens"


def no_rise(effect: str, results: Results, arm: str, measure: str) -> Finding:
    """How much less than the smallest difference that matters an arm loses beyond training."""
    far, near = beyond(results, arm, measure), in_range(results, arm)
    left = [runs.SMALLEST - (far[seed] - near[seed]) for seed in learned(results, arm)]
    return Finding(effect, estimate(left), 0.0)
