"""The claims on positions beyond the training length: their rules, and quick scale."""

from pathlib import Path

import pytest
from made_up import judged

from lengthwise.claims import reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.length_extrapolatable.markov import plan as runs

PAPER = "length-extrapolatable"
MEASURES = (runs.MEASURE, runs.BLOCKWISE)


def test_every_claim_is_judged_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce(find_claims(PAPER), "quick", tmp_path, ["test"])
    names = [verdict.claim.name for verdict in done.verdicts]
    assert names == [f"{PAPER}/rotary-breaks", f"{PAPER}/blockwise"]
    assert len(done.pictures) == 1
    kl, blockwise = done.tables
    # Up to the training length blockwise attention hides nothing.
    trained = [str(n) for n in runs.LENGTHS].index(str(runs.TRAINED))
    assert kl.rows[: trained + 1] == blockwise.rows[: trained + 1]
    assert kl.rows[-1] != blockwise.rows[-1]


@pytest.mark.parametrize(
    ("rotary", "xpos", "outcome"),
    [(1.0, 0.0, "holds"), (0.01, 0.0, "fails"), (1.0, 0.5, "fails"), (1.0, 2.0, "fails")],
)
def test_rotary_must_break_and_xpos_must_not(
    rotary: float, xpos: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if length <= runs.TRAINED:
            return 0.01
        lost = {("rotary", runs.MEASURE): rotary, ("xpos", runs.BLOCKWISE): xpos}
        return 0.01 + lost.get((label, measure), 3.0)

    assert judged(f"{PAPER}/rotary-breaks", MEASURES, value, tmp_path).outcome == outcome


@pytest.mark.parametrize(
    ("whole", "blocks", "outcome"),
    [(1.0, 0.0, "holds"), (0.01, 0.0, "fails"), (1.0, 0.5, "fails")],
)
def test_blockwise_attention_must_gain_and_lose_nothing(
    whole: float, blocks: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if length <= runs.TRAINED or label != "rotary":
            return 0.01
        return 0.01 + (whole if measure == runs.MEASURE else blocks)

    assert judged(f"{PAPER}/blockwise", MEASURES, value, tmp_path).outcome == outcome


def test_models_far_from_the_source_leave_claims_undecided(tmp_path: Path) -> None:
    verdict = judged(f"{PAPER}/blockwise", MEASURES, lambda *_: 2.0, tmp_path)
    assert verdict.outcome == "undecided"
