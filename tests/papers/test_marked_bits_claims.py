"""The claim on reach by the number of marked bits: its rule on made-up numbers, and quick scale."""

from pathlib import Path

import pytest
from made_up import judged

from lengthwise.claims import reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.role_of_sparsity.marked_bits import plan as runs

FALLS = "role-of-sparsity/falls-with-k"


def test_the_claim_is_judged_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce(find_claims(FALLS), "quick", tmp_path, ["test"])
    assert [verdict.claim.name for verdict in done.verdicts] == [FALLS]
    assert len(done.folders) == len(runs.MARKED)
    assert [picture.name for picture in done.pictures] == ["parities"]


@pytest.mark.parametrize(
    ("reaches", "outcome"),
    [((80, 50, 30), "holds"), ((40, 40, 40), "fails"), ((30, 40, 60), "fails")],
)
def test_reach_must_fall_as_more_bits_are_marked(
    reaches: tuple[int, ...], outcome: str, tmp_path: Path
) -> None:
    longest = dict(zip(runs.MARKED, reaches, strict=True))

    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.99 if length <= longest[label] else 0.6

    verdict = judged(FALLS, (runs.MEASURE,), value, tmp_path)
    assert verdict.outcome == outcome
    assert verdict.headline.estimate.count == runs.SIZES["laptop"].seeds


def test_seeds_at_which_one_was_not_learned_do_not_count(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.5 if label == list(runs.MARKED)[-1] and seed > 0 else 0.99

    verdict = judged(FALLS, (runs.MEASURE,), value, tmp_path)
    assert verdict.outcome == "undecided"
    assert verdict.headline.estimate.count == 1
