"""Claim: LayerNorm's learned scale and shift matter."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance import retrieval_section as shown
from lengthwise.papers.vanishing_variance.retrieval import (
    MAIN,
    MAIN_SIZES,
    NORM,
    SHELF,
    STANDARDIZATION,
    TASKS,
    TITLES,
    plan,
)
from lengthwise.papers.vanishing_variance.table_accuracy import SMALLEST_GAIN


def evidence(results: Results) -> Sequence[Finding]:
    """LayerNorm against standardization, where the baseline breaks and at four times that."""
    return [
        Finding(
            f"accuracy by which LayerNorm is above standardization on {TITLES[task]} at {length} "
            "items",
            estimate(read.differences(results, task, NORM, STANDARDIZATION, "accuracy", length)),
            SMALLEST_GAIN,
        )
        for task in TASKS
        for length in read.breaking_lengths(results, task)
    ]


STANDARDIZATION_HELPS_LESS = Claim(
    name="vanishing-variance/standardization",
    sentence="Standardization, LayerNorm without its learned scale and shift, helps less than it.",
    source="arXiv 2504.02827, ablation",
    experiment=Experiment(
        "retrieval-standardization",
        lambda scale: plan(MAIN_SIZES[scale]),
        shown.section("LayerNorm and standardization", list(TASKS)),
        shelf=SHELF,
    ),
    evidence=evidence,
    pictures=lambda results: [shown.accuracy_picture(results, tuple(TASKS), MAIN)],
)
