"""Claim: with coupled positions more layers do not help."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import paired_ratio
from lengthwise.papers.position_coupling import ARXIV
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.position_coupling.addition.section import ADDITION


def evidence(results: Results) -> list[Finding]:
    """One layer must not be below two by more than what matters."""
    one, two = runs.reach(results, runs.COUPLED), runs.reach(results, runs.DEEP)
    both = runs.learned(results, runs.COUPLED, runs.DEEP)
    ratio = paired_ratio({seed: one[seed] for seed in both}, {seed: two[seed] for seed in both})
    return [Finding("reach of one layer / two layers", ratio, 1 / runs.SMALLEST_FACTOR)]


LAYERS = Claim(
    name="position-coupling/layers",
    sentence="With coupled positions a second layer does not carry addition further.",
    source=f"{ARXIV}, depths 1 to 6, in miniature",
    experiment=ADDITION,
    evidence=evidence,
    place=20,
)
