"""Claims on blanks and lengths: selection against full attention."""

from collections.abc import Mapping

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.reguformer import ARXIV
from lengthwise.papers.reguformer.blanks import plan as runs
from lengthwise.papers.reguformer.blanks import readings as read
from lengthwise.papers.reguformer.blanks.section import BLANKS

SMALLEST = 0.01
"""A gain in accuracy by less than one point would not matter. Ours."""

DECIDES = 0.5
"""The blanked part at which it is decided, named in advance; the others are shown. Ours."""


def _gain(
    words: str, results: Results, variant: str, ours: Mapping[int, float],
    full: Mapping[int, float], *, decides: bool,
) -> Finding:  # fmt: skip
    seeds = read.learned(results, variant, runs.FULL)
    effect = f"accuracy of {runs.TITLES[variant]} above full attention, {words}"
    return Finding(effect, estimate([ours[one] - full[one] for one in seeds]), SMALLEST, decides)


def robust(results: Results) -> list[Finding]:
    """The gain with a part blanked."""
    parts = sorted(runs.BLANKED, key=lambda part: part != DECIDES)
    return [
        _gain(
            f"{100 * part:.0f} % blanked", results, variant,
            read.blanked(results, variant)[part], read.blanked(results, runs.FULL)[part],
            decides=part == DECIDES and variant == runs.TOP,
        )
        for part in parts
        for variant in (runs.TOP, runs.RAND)
    ]  # fmt: skip


def longer(results: Results) -> list[Finding]:
    """The gain on whole intervals of other lengths; the longest decides."""
    lengths = sorted(results.recipe.test_lengths, reverse=True)
    return [
        _gain(
            f"{length} steps", results, variant,
            read.by_length(results, variant)[length], read.by_length(results, runs.FULL)[length],
            decides=length == lengths[0] and variant == runs.TOP,
        )
        for length in lengths
        for variant in (runs.TOP, runs.RAND)
    ]  # fmt: skip


ROBUST = Claim(
    "reguformer/robust",
    "Where half of an interval is blanked, selected queries beat full attention.",
    f"{ARXIV}, robustness; the sentence and the 50 % are ours",
    BLANKS, robust, place=10,
)  # fmt: skip
LONGER = Claim(
    "reguformer/longer",
    "On intervals four times as long as in training, selected queries beat full attention.",
    f"ours, on {ARXIV}, which tests no other lengths",
    BLANKS, longer, place=20,
)  # fmt: skip
