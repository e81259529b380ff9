"""Claim: what has a period needs positions."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import gap
from lengthwise.papers.c_rasp.languages.plan import CELLS
from lengthwise.papers.c_rasp.languages.section import LANGUAGES


def evidence(results: Results) -> list[Finding]:
    """Random start against none."""
    return [
        gap(
            f"words of (aa)* matched at {times} the training length, random start - none",
            results, CELLS, "aa-star-offset", "aa-star-none", bin, decides=bin == 2,
        )
        for bin, times in ((2, "2 to 3 times"), (1, "1 to 2 times"))
    ]  # fmt: skip


PERIODS = Claim(
    name="c-rasp/periods-need-positions",
    sentence=(
        "(aa)* carries beyond the training length with learned positions from a random start, and "
        "not without positions."
    ),
    source=f"{ARXIV}, table of formal languages",
    experiment=LANGUAGES,
    evidence=evidence,
    place=90,
)
