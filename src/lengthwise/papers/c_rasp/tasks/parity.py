"""Claim: parity is learned in range and falls towards a guess beyond it."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import POSITIONS, SMALLEST_GAP
from lengthwise.papers.c_rasp.tasks.plan import CELLS
from lengthwise.papers.c_rasp.tasks.section import TASKS


def evidence(results: Results) -> list[Finding]:
    """What is lost at three times the training length, of the models that learned."""
    findings = []
    for positions, words in POSITIONS.items():
        label = f"parity-{positions}"
        near, far = (CELLS.of_learned(results, label, bin) for bin in (0, 2))
        findings.append(
            Finding(
                "exact match lost on parity from the training lengths to 2 to 3 times that; "
                f"positions: {words}",
                estimate([near[seed] - far[seed] for seed in sorted(near)]),
                SMALLEST_GAP,
            )
        )
    return findings


PARITY = Claim(
    name="c-rasp/parity",
    sentence="Parity is lost beyond the training length, with positions and without.",
    source=f"{ARXIV}, table of algorithmic tasks: parity",
    experiment=TASKS,
    evidence=evidence,
    place=50,
)
