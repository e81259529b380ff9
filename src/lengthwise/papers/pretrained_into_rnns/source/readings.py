"""What the claims on converted models read out of the tables of runs."""

from lengthwise.claims import Results
from lengthwise.claims import arms as read
from lengthwise.papers.pretrained_into_rnns.source import plan as runs


def in_range(results: Results, label: str) -> dict[int, float]:
    """Distance from the source at the training length, by seed."""
    trained = results.recipe.max_train_length
    return read.between(results, label, runs.MEASURE, trained, trained)


def beyond(results: Results, label: str) -> dict[int, float]:
    """Mean distance from the source beyond the training length, up to twice that, by seed."""
    trained = results.recipe.max_train_length
    return read.between(results, label, runs.MEASURE, trained + 1, 2 * trained)


def words(results: Results) -> str:
    """Where that is."""
    trained = results.recipe.max_train_length
    return f"beyond {trained} tokens, up to {2 * trained}"


def pretrained(results: Results, *labels: str) -> list[int]:
    """The seeds whose softmax model learned the source, and at which none of these diverged.

    How good the others are in range is what is asked, so they need not have learned it.
    """
    learned = {
        seed
        for seed, value in in_range(results, runs.SOFTMAX).items()
        if value <= runs.MOST_IN_RANGE
    }
    return sorted(learned.intersection(*(in_range(results, label) for label in labels)))


def learned(results: Results, *labels: str) -> list[int]:
    """The seeds at which all of these are near the source at the training length."""
    seeds = [
        {seed for seed, value in in_range(results, label).items() if value <= runs.MOST_IN_RANGE}
        for label in labels
    ]
    return sorted(set.intersection(*seeds))
