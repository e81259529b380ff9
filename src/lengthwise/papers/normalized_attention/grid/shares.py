"""Claims: NAP learns at more widths and rates than softmax, and so it is at twice the length."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.normalized_attention import ARXIV
from lengthwise.papers.normalized_attention.grid import readings as read
from lengthwise.papers.normalized_attention.grid.plan import MTE, NAP, SOFTMAX, VARIANTS
from lengthwise.papers.normalized_attention.grid.section import GRID

SMALLEST = 0.02
"""A fiftieth of the grid; the published differences are 0.15 and 0.075. Ours."""


def more(results: Results, variant: str, other: str, times: int, *, decides: bool) -> Finding:
    """By how much the share of good models of one variant is above that of another."""
    ours, theirs = (read.share_by_seed(results, one, times) for one in (variant, other))
    where = "the training length" if times == 1 else "twice the training length"
    return Finding(
        f"share of widths and rates with accuracy above {read.GOOD} at {where}, "
        f"{VARIANTS[variant].title} minus {VARIANTS[other].title}",
        estimate([float(one) for one in ours - theirs]),
        SMALLEST,
        decides,
    )


def claim(name: str, sentence: str, source: str, place: int, times: int, *pair: str) -> Claim:
    """A comparison of two variants that decides, with the others shown."""
    every = [(NAP, MTE), (NAP, SOFTMAX), (MTE, SOFTMAX)]
    ordered = sorted(every, key=lambda one: one != pair)

    def evidence(results: Results) -> list[Finding]:
        return [more(results, *one, times, decides=one == pair) for one in ordered]

    return Claim(f"normalized-attention/{name}", sentence, source, GRID, evidence, place=place)


SHARE = claim(
    "share",
    "NAP learns mode at more widths and learning rates than softmax with the same norms.",
    f"{ARXIV}, robustness to hyper-parameters",
    10, 1, NAP, MTE,
)  # fmt: skip
SHARE_AT_TWICE = claim(
    "share-at-twice",
    "At twice the training length, more widths and learning rates are good with NAP than with "
    "softmax and the same norms.",
    f"{ARXIV}, mode at twice the length",
    20, 2, NAP, MTE,
)  # fmt: skip
NORMS = claim(
    "norms",
    "A norm after attention makes softmax learn mode at more widths and learning rates.",
    f"{ARXIV}: its layout with softmax (MTE), against a layer without norms after attention (ours)",
    30, 1, MTE, SOFTMAX,
)  # fmt: skip
