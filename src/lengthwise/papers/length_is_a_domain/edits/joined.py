"""Claim: short examples that are joined recover long ones."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.arms import gain
from lengthwise.papers.length_is_a_domain import ARXIV
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.papers.length_is_a_domain.edits import readings as read
from lengthwise.papers.length_is_a_domain.edits.section import JOINED_EDITS

ARMS = (runs.SHORT, runs.JOINED, runs.LONG)


def evidence(results: Results) -> list[Finding]:
    """What joined examples give on real long ones, and which part of what those give."""
    right = {label: read.within(read.of(results, label, runs.MEASURE), runs.FAR) for label in ARMS}
    where = f"at {read.words(runs.FAR)}"
    both = read.learned(results, runs.SHORT, runs.JOINED)
    every = read.learned(results, *ARMS)
    left = [
        (right[runs.JOINED][seed] - right[runs.SHORT][seed])
        - runs.RECOVERED * (right[runs.LONG][seed] - right[runs.SHORT][seed])
        for seed in every
    ]
    ratios = {
        label: read.within(read.of(results, label, "length_ratio"), runs.FAR) for label in ARMS
    }
    return [
        gain(
            f"share of right answers that training on joined edits gains {where}",
            right[runs.JOINED], right[runs.SHORT], both, runs.SMALLEST,
        ),
        Finding(
            f"the same above {runs.RECOVERED:g} of what training on long edits gains",
            estimate(left),
            0.0,
        ),
        gain(
            f"what answers gain in length {where}, as a part of what it should be",
            ratios[runs.JOINED], ratios[runs.SHORT], both, runs.SMALLEST_RATIO, decides=False,
        ),
    ]  # fmt: skip


JOINED = Claim(
    name="length-is-a-domain/joined",
    sentence=(
        "Trained on short examples and on joined ones, a transformer recovers at least half of "
        "what training on long examples gives."
    ),
    source=f"{ARXIV}, translation, in miniature on string edits",
    experiment=JOINED_EDITS,
    evidence=evidence,
    place=30,
)
