"""The tables of accuracy: does a norm after attention help beyond the training length?"""

from collections.abc import Sequence

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown
from lengthwise.papers.vanishing_variance.retrieval.plan import (
    BASELINE,
    MAIN,
    MAIN_SIZES,
    NORM,
    SHARED_RUNS,
    STANDARDIZATION,
    TITLES,
    VARIANTS,
    plan,
)


def evidence(results: Results, task: str) -> Sequence[Finding]:
    """The gain where the baseline breaks and at four times that length."""
    return [
        Finding(
            f"accuracy gained over the baseline by {VARIANTS[variant].title} at {length} items",
            estimate(read.differences(results, task, variant, BASELINE, "accuracy", length)),
            read.SMALLEST_GAIN,
            decides=variant == NORM,
        )
        for variant in (NORM, STANDARDIZATION)
        for length in read.breaking_lengths(results, task)
    ]


def _claim(task: str, place: int) -> Claim:
    return Claim(
        name=f"vanishing-variance/table-{task}",
        sentence=(
            f"LayerNorm right after attention improves accuracy on {TITLES[task]} beyond the "
            "training lengths."
        ),
        source=f"{ARXIV}, table of accuracies",
        experiment=Experiment(
            f"retrieval-{task}",
            lambda scale: plan(MAIN_SIZES[scale], (task,)),
            shown.section(TITLES[task].capitalize(), [task]),
            shared_runs=SHARED_RUNS,
        ),
        evidence=lambda results: evidence(results, task),
        drawings=(shown.accuracy_drawing(f"table-{task}", (task,), MAIN),),
        tables=lambda results: shown.accuracy_tables(results, task, MAIN, task),
        place=place,
    )


TABLE_ARGMAX = _claim("argmax", 80)
TABLE_DICTIONARY = _claim("dictionary", 81)
