"""Does LayerNorm's gain go on rising with training? And the picture of it."""

from lengthwise.claims import Claim, Experiment, Finding, Results, estimate
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown

TASK = "argmax"

PART = 5
"""The gain is compared with that after a fifth of the steps: 20,000 at laptop scale. Ours."""


def evidence(results: Results) -> list[Finding]:
    """The gain after all steps above that after a fifth of them, seed by seed; then the gains."""
    first, *others = read.breaking_lengths(results, TASK)
    gains = read.gains_on_the_way(results, TASK, runs.NORM, first)
    steps = results.recipe.steps
    last, early = gains[steps], gains[steps // PART]
    rise = estimate([last[seed] - early[seed] for seed in last], level=results.level)
    return [
        Finding(
            f"accuracy by which LayerNorm's gain at {first} items is larger after {steps} steps "
            f"than after {steps // PART}",
            rise,
            read.SMALLEST_GAIN,
        ),
        *(
            read.gain(
                f"accuracy gained over the baseline by LayerNorm at {length} items after {steps} "
                "steps",
                results, TASK, runs.NORM, length, decides=False,
            )
            for length in (first, *others)
        ),
    ]  # fmt: skip


LONGER = Claim(
    name="vanishing-variance/longer",
    sentence="LayerNorm's gain on argmax retrieval goes on rising with training.",
    source=f"a question that {ARXIV}, table of accuracies, leaves open; ours",
    experiment=Experiment(
        "retrieval-longer",
        lambda scale: runs.plan(runs.LONGER_SIZES[scale], (TASK,), (runs.BASELINE, runs.NORM)),
        shown.section("LayerNorm's gain as training goes on", [TASK]),
    ),
    evidence=evidence,
    drawings=(shown.steps_drawing("longer", TASK),),
    place=85,
)
