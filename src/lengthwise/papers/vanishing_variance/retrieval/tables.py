"""The tables of accuracy: does a norm after attention help beyond the training length?"""

from lengthwise.claims import Claim, Experiment, Finding, Results
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown

COMPARED = {"argmax": runs.MAIN, "dictionary": (runs.BASELINE, runs.NORM)}
"""What has many seeds; standardization on dictionary lookup has those of the ablation."""


def evidence(results: Results, task: str) -> list[Finding]:
    """The gain where the baseline breaks and at four times that length."""
    return [
        read.gain(
            f"accuracy gained over the baseline by {runs.VARIANTS[variant].title} at {length} "
            "items",
            results, task, variant, length, decides=variant == runs.NORM,
        )
        for variant in COMPARED[task][1:]
        for length in read.breaking_lengths(results, task)
    ]  # fmt: skip


def _claim(task: str, place: int) -> Claim:
    return Claim(
        name=f"vanishing-variance/table-{task}",
        sentence=(
            f"LayerNorm right after attention improves accuracy on {runs.TITLES[task]} beyond the "
            "training lengths."
        ),
        source=f"{ARXIV}, table of accuracies",
        experiment=Experiment(
            f"retrieval-{task}",
            lambda scale: runs.plan(runs.MAIN_SIZES[scale], (task,), COMPARED[task]),
            shown.section(runs.TITLES[task].capitalize(), [task]),
            shared_runs=runs.SHARED_RUNS,
            looks=lambda scale: runs.LOOKS[scale],
        ),
        evidence=lambda results: evidence(results, task),
        drawings=(
            shown.accuracy_drawing(f"table-{task}", (task,), COMPARED[task]),
            shown.steps_drawing(f"steps-{task}", task),
        ),
        tables=lambda results: shown.accuracy_tables(results, task, COMPARED[task], task),
        place=place,
    )


TABLE_ARGMAX = _claim("argmax", 80)
TABLE_DICTIONARY = _claim("dictionary", 81)
