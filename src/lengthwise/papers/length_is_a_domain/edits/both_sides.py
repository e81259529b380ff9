"""Claim: accuracy falls on shorter inputs as it does on longer ones."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.arms import between, gain
from lengthwise.papers.length_is_a_domain import ARXIV
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.papers.length_is_a_domain.edits.readings import learned, right, words
from lengthwise.papers.length_is_a_domain.edits.section import EDITS


def evidence(results: Results) -> list[Finding]:
    """What is lost on either side of the band; then next to it."""
    inside, seeds = right(results, runs.BAND, runs.TRAINED), learned(results, runs.BAND)
    found = [
        gain(
            f"share of right answers lost at {words(bucket)}, trained on {words(runs.TRAINED)}",
            inside, right(results, runs.BAND, bucket), seeds, runs.SMALLEST,
        )
        for bucket in (runs.SHORTER, runs.LONGER)
    ]  # fmt: skip
    for length in (runs.SHORTER[1], runs.LONGER[0]):
        near = between(results, runs.BAND, runs.MEASURE, length, length)
        effect = f"the same at {length} letters, next to the band"
        found.append(gain(effect, inside, near, seeds, runs.SMALLEST, decides=False))
    return found


BOTH_SIDES = Claim(
    name="length-is-a-domain/both-sides",
    sentence=(
        "Trained in a band of lengths, a transformer gets fewer answers right on shorter inputs as "
        "well as on longer ones."
    ),
    source=f"{ARXIV}, string edits, in miniature",
    experiment=EDITS,
    evidence=evidence,
    place=10,
)
