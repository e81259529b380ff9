"""Claim: what is written stays at trained lengths."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.arms import between, gain
from lengthwise.papers.length_is_a_domain import ARXIV
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.papers.length_is_a_domain.edits import readings as read
from lengthwise.papers.length_is_a_domain.edits.section import EDITS


def evidence(results: Results) -> list[Finding]:
    """Too long on shorter inputs, too short on longer ones; and what a given length would mend."""
    table, seeds = read.of(results, runs.BAND, "length_ratio"), read.learned(results, runs.BAND)
    shorter, longer = (read.within(table, bucket) for bucket in (runs.SHORTER, runs.LONGER))
    found = [
        Finding(
            f"by which part answers are too long at {read.words(runs.SHORTER)}",
            estimate([shorter[seed] - 1 for seed in seeds]),
            runs.SMALLEST_RATIO,
        ),
        Finding(
            f"by which part answers are too short at {read.words(runs.LONGER)}",
            estimate([1 - longer[seed] for seed in seeds]),
            runs.SMALLEST_RATIO,
        ),
    ]
    for bucket in (runs.SHORTER, runs.LONGER):
        given = between(results, runs.BAND, runs.GIVEN, *bucket)
        own = read.right(results, runs.BAND, bucket)
        effect = f"share of right answers gained at {read.words(bucket)} if their length is given"
        found.append(gain(effect, given, own, seeds, runs.SMALLEST, decides=False))
    return found


OUTPUT_LENGTH = Claim(
    name="length-is-a-domain/output-length",
    sentence=(
        "What it writes stays at the trained lengths: it is too long on shorter inputs and too "
        "short on longer ones."
    ),
    source=f"{ARXIV}, string edits, in miniature",
    experiment=EDITS,
    evidence=evidence,
    place=20,
)
