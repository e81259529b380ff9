"""The tables of accuracy: does a norm after attention help beyond the training length?"""

from collections.abc import Sequence

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance import retrieval_section as shown
from lengthwise.papers.vanishing_variance.retrieval import (
    BASELINE,
    MAIN,
    MAIN_SIZES,
    NORM,
    SHELF,
    STANDARDIZATION,
    TITLES,
    VARIANTS,
    plan,
)

SMALLEST_GAIN = 0.01
"""A gain in accuracy by less than one point would not matter. Ours."""


def evidence(results: Results, task: str) -> Sequence[Finding]:
    """The gain where the baseline breaks and at four times that length."""
    return [
        Finding(
            f"accuracy gained over the baseline by {VARIANTS[variant].title} at {length} items",
            estimate(read.differences(results, task, variant, BASELINE, "accuracy", length)),
            SMALLEST_GAIN,
            decides=variant == NORM,
        )
        for variant in (NORM, STANDARDIZATION)
        for length in read.breaking_lengths(results, task)
    ]


def _claim(task: str) -> Claim:
    return Claim(
        name=f"vanishing-variance/table-{task}",
        sentence=(
            f"LayerNorm right after attention improves accuracy on {TITLES[task]} beyond the "
            "training lengths."
        ),
        source="arXiv 2504.02827, table of accuracies",
        experiment=Experiment(
            f"retrieval-{task}",
            lambda scale: plan(MAIN_SIZES[scale], (task,)),
            shown.section(TITLES[task].capitalize(), [task]),
            shelf=SHELF,
        ),
        evidence=lambda results: evidence(results, task),
        pictures=lambda results: [shown.accuracy_picture(results, [task], MAIN)],
        tables=lambda results: shown.accuracy_tables(results, task, MAIN),
    )


TABLE_ARGMAX = _claim("argmax")
TABLE_DICTIONARY = _claim("dictionary")
