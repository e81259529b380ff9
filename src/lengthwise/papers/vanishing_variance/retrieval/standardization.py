"""Claim: LayerNorm's learned scale and shift matter."""

from lengthwise.claims import Claim, Experiment, Finding, Results
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown


def evidence(results: Results) -> list[Finding]:
    """LayerNorm against standardization, where the baseline breaks and at four times that."""
    return [
        read.gain(
            f"accuracy by which LayerNorm is above standardization on {runs.TITLES[task]} at "
            f"{length} items",
            results, task, runs.NORM, length, runs.STANDARDIZATION,
        )
        for task in runs.TASKS
        for length in read.breaking_lengths(results, task)
    ]  # fmt: skip


STANDARDIZATION_HELPS_LESS = Claim(
    name="vanishing-variance/standardization",
    sentence="Standardization, LayerNorm without its learned scale and shift, helps less than it.",
    source=f"{ARXIV}, ablation",
    experiment=Experiment(
        "retrieval-standardization",
        lambda scale: runs.plan(runs.MAIN_SIZES[scale]._replace(fleets=1)),
        shown.section("LayerNorm and standardization", list(runs.TASKS)),
        shared_runs=runs.SHARED_RUNS,
    ),
    evidence=evidence,
    drawings=(shown.accuracy_drawing("standardization", tuple(runs.TASKS), runs.MAIN),),
    place=90,
)
