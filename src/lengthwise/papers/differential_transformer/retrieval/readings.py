"""What the claims on differential attention read out of the tables of runs."""

import numpy as np

from lengthwise.claims import Finding, Results, once
from lengthwise.claims import arms as read
from lengthwise.papers.differential_transformer.retrieval import plan as runs


@once
def breaking_lengths(results: Results, task: str) -> list[int]:
    """Where softmax breaks, and four times that; the longest length where it never does."""
    trained, lengths = results.recipe.max_train_length, results.recipe.test_lengths
    seeds = learned(results, task, runs.SOFTMAX)
    means = {
        length: np.mean([_at(results, task, runs.SOFTMAX, length)[seed] for seed in seeds])
        for length in (lengths if seeds else ())
    }
    least = runs.LEAST_ACCURACY * means.get(trained, np.float64(0))
    first = next((length for length, mean in means.items() if mean < least), lengths[-1])
    return sorted({first, min(runs.BEYOND * first, lengths[-1])})


def learned(results: Results, task: str, *arms: str) -> list[int]:
    """The seeds at which all of these arms learned the training lengths."""
    labels = [runs.label(task, arm) for arm in arms]
    trained = results.recipe.max_train_length
    return read.learned(results, labels, "accuracy", trained, runs.LEAST_ACCURACY)


def gain(
    results: Results, task: str, arm: str, against: str, length: int, *, decides: bool = True
) -> Finding:
    """By how much accuracy is higher than with another arm, seed by seed."""
    return read.gain(
        f"accuracy of {runs.ARMS[arm].line.title} above {runs.ARMS[against].line.title} on "
        f"{runs.TITLES[task]} at {length} items",
        _at(results, task, arm, length),
        _at(results, task, against, length),
        learned(results, task, arm, against),
        runs.SMALLEST_GAIN,
        decides=decides,
    )


def _at(results: Results, task: str, arm: str, length: int) -> dict[int, float]:
    return read.between(results, runs.label(task, arm), "accuracy", length, length)
