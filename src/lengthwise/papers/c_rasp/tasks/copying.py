"""Claims: distinct symbols are copied further than repeated ones, and only with positions."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import gap
from lengthwise.papers.c_rasp.tasks.plan import CELLS
from lengthwise.papers.c_rasp.tasks.section import TASKS

AT = {1: "1 to 2 times", 2: "2 to 3 times"}


def _evidence(results: Results, upper: str, lower: str, words: str) -> list[Finding]:
    return [
        gap(
            f"exact match at {times} the training length, {words}",
            results, CELLS, upper, lower, bin, decides=bin == 1,
        )
        for bin, times in AT.items()
    ]  # fmt: skip


UNIQUE_OVER_REPEAT = Claim(
    name="c-rasp/unique-over-repeat",
    sentence=(
        "With learned positions from a random start, distinct symbols are copied beyond the "
        "training length where repeated ones are not."
    ),
    source=f"{ARXIV}, table of algorithmic tasks: copy",
    experiment=TASKS,
    evidence=lambda results: _evidence(
        results, "unique-copy-offset", "repeat-copy-offset", "unique copy - repeat copy"
    ),
    place=30,
)

COPY_NEEDS_POSITIONS = Claim(
    name="c-rasp/copy-needs-positions",
    sentence=(
        "Distinct symbols are copied beyond the training length with learned positions from a "
        "random start, and not without positions."
    ),
    source=f"{ARXIV}, table of algorithmic tasks: copy",
    experiment=TASKS,
    evidence=lambda results: _evidence(
        results, "unique-copy-offset", "unique-copy-none", "unique copy, random start - none"
    ),
    place=40,
)
