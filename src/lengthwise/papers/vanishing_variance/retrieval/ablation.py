"""The ablation: LayerNorm against standardization, and against norms the paper does not have."""

from collections.abc import Sequence

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown
from lengthwise.papers.vanishing_variance.retrieval.plan import (
    ABLATION_SIZES,
    BASELINE,
    NORM,
    TASKS,
    TITLES,
    VARIANTS,
    plan,
)


def evidence(results: Results) -> Sequence[Finding]:
    """LayerNorm after W_O against every other norm; every norm against the baseline is shown."""
    return [
        _finding(results, task, variant, against, read.breaking_lengths(results, task)[0])
        for task in TASKS
        for variant, against in (
            *((NORM, other) for other in VARIANTS if other not in (NORM, BASELINE)),
            *((variant, BASELINE) for variant in VARIANTS if variant != BASELINE),
        )
    ]


def _finding(results: Results, task: str, variant: str, against: str, length: int) -> Finding:
    return Finding(
        f"accuracy by which {VARIANTS[variant].title} is above {VARIANTS[against].title} on "
        f"{TITLES[task]} at {length} items",
        estimate(read.differences(results, task, variant, against, "accuracy", length)),
        read.SMALLEST_GAIN,
        decides=against != BASELINE,
    )


TABLE_ABLATION = Claim(
    name="vanishing-variance/table-ablation",
    sentence="Of all norms after attention, LayerNorm after W_O is the best.",
    source=f"{ARXIV}, ablation; norms other than LayerNorm and standardization are ours",
    experiment=Experiment(
        "retrieval-ablation",
        lambda scale: plan(ABLATION_SIZES[scale], variants=tuple(VARIANTS)),
        shown.section("Which norm, and where", list(TASKS)),
    ),
    evidence=evidence,
    drawings=(shown.accuracy_drawing("table-ablation", tuple(TASKS), tuple(VARIANTS)),),
    tables=lambda results: [
        table
        for task in TASKS
        for table in shown.accuracy_tables(results, task, tuple(VARIANTS), f"ablation-{task}")
    ],
    place=100,
)
