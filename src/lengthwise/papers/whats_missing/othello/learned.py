"""Figures 3 to 5 once more, on models that have learned the game: 4 x 4, fresh seeds.

The rules were written down before any of these seeds was read: docs/results/othello/PLAN.md.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars

from lengthwise.claims import Claim, Experiment, Finding, Results, Scale, estimate
from lengthwise.claims.readings import by_seed
from lengthwise.papers.whats_missing.othello import readings as read
from lengthwise.papers.whats_missing.othello.figure_3 import FIGURE_3
from lengthwise.papers.whats_missing.othello.figure_4 import FIGURE_4
from lengthwise.papers.whats_missing.othello.figure_5 import FIGURE_5
from lengthwise.papers.whats_missing.othello.plan import Scaled, planned
from lengthwise.papers.whats_missing.othello.section import section

SCALES: dict[Scale, Scaled] = {
    "quick": Scaled(4, 7, "tiny", 2, 600, 64, 2e-3, 256),
    "laptop": Scaled(4, 7, "tiny", 8, 10_000, 64, 1e-3, 1024),
    "paper": Scaled(4, 7, "small", 8, 100_000, 512, 5e-4, 4096, "cuda"),
}
"""Ours."""

FIRST_SEED = 1000

LEARNED = 0.1
"""Models have learned the game if their TVD within the training length is below. Ours."""

PLAINEST = "dropout 0"

OTHELLO_LEARNED = Experiment(
    "othello-learned", lambda scale: planned(SCALES[scale], FIRST_SEED), section
)


def evidence(claim: Claim, results: Results) -> Sequence[Finding]:
    """What the claim rests on; nothing of it decides where the models have not learned the game."""
    own = read.of_kind(read.over(read.readings(results), read.WITHIN), "raw")
    within = by_seed(own.filter(polars.col("variant") == PLAINEST))
    gate = Finding(
        f"how far TVD {read.WITHIN.words} lies below {LEARNED}, raw weights, {PLAINEST}: whether "
        "the game is learned",
        estimate([LEARNED - value for value in within.values()]),
        0.0,
        decides=False,
    )
    learned = gate.estimate.mean > 0
    return [
        *(replace(one, decides=one.decides and learned) for one in claim.evidence(results)),
        gate,
    ]


def _learned(claim: Claim) -> Claim:
    sentence = claim.sentence.replace("OthelloGPT", "a learned OthelloGPT")
    return replace(
        claim,
        name=f"{claim.name}-learned",
        sentence=sentence[0].upper() + sentence[1:],
        experiment=OTHELLO_LEARNED,
        evidence=lambda results: evidence(claim, results),
        place=claim.place + 50,
    )


FIGURE_3_LEARNED, FIGURE_4_LEARNED, FIGURE_5_LEARNED = map(_learned, (FIGURE_3, FIGURE_4, FIGURE_5))
