"""Claim: LayerNorm's learned scale and shift matter."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown
from lengthwise.papers.vanishing_variance.retrieval.plan import (
    MAIN,
    MAIN_SIZES,
    NORM,
    SHARED_RUNS,
    STANDARDIZATION,
    TASKS,
    TITLES,
    plan,
)


def evidence(results: Results) -> Sequence[Finding]:
    """LayerNorm against standardization, where the baseline breaks and at four times that."""
    return [
        Finding(
            f"accuracy by which LayerNorm is above standardization on {TITLES[task]} at {length} "
            "items",
            estimate(read.differences(results, task, NORM, STANDARDIZATION, "accuracy", length)),
            read.SMALLEST_GAIN,
        )
        for task in TASKS
        for length in read.breaking_lengths(results, task)
    ]


STANDARDIZATION_HELPS_LESS = Claim(
    name="vanishing-variance/standardization",
    sentence="Standardization, LayerNorm without its learned scale and shift, helps less than it.",
    source=f"{ARXIV}, ablation",
    experiment=Experiment(
        "retrieval-standardization",
        lambda scale: plan(MAIN_SIZES[scale]),
        shown.section("LayerNorm and standardization", list(TASKS)),
        shared_runs=SHARED_RUNS,
    ),
    evidence=evidence,
    drawings=(shown.accuracy_drawing("standardization", tuple(TASKS), MAIN),),
    place=90,
)
