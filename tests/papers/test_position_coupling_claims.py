"""The claims on coupled positions and predicted ids: their rules, and quick scale."""

from pathlib import Path

import polars
import pytest
from made_up import judged

from lengthwise.claims import Results, reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.position_coupling.addition import plan as runs
from lengthwise.papers.role_of_sparsity.predictive import given

REACH = "position-coupling/reach"
LAYERS = "position-coupling/layers"


def test_every_claim_is_judged_at_quick_scale(tmp_path: Path) -> None:
    predictive = [find_claims(f"role-of-sparsity/{name}")[0] for name in ("given", "predicted")]
    claims = [*find_claims("position-coupling"), *predictive]
    done = reproduce(claims, "quick", tmp_path, ["test"])
    names = [verdict.claim.name for verdict in done.verdicts]
    assert names == [REACH, LAYERS, "role-of-sparsity/given", "role-of-sparsity/predicted"]
    assert len(done.folders) == 5, "both experiments share the runs with coupled positions"
    assert len(done.pictures) == 2


def up_to(length: int, reach: int) -> float:
    return 0.99 if length <= reach else 0.2


@pytest.mark.parametrize(
    ("coupled", "other", "outcome"), [(20, 10, "holds"), (12, 12, "fails"), (10, 15, "fails")]
)
def test_reach_must_be_longer_than_both(
    coupled: int, other: int, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        reaches = {runs.COUPLED: coupled, runs.RANDOM_START: other, runs.NONE: 10}
        return up_to(length, reaches.get(label, 30))

    assert judged(REACH, (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_a_baseline_that_learned_nothing_has_reach_1(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return up_to(length, 10 if label == runs.COUPLED else 0)

    verdict = judged(REACH, (runs.MEASURE,), value, tmp_path)
    assert verdict.outcome == "holds"
    assert verdict.headline.estimate.mean == 10
    assert [one.estimate.count for one in verdict.findings[2:4]] == [0, 0], "they did not learn"


def test_one_seed_that_does_not_reach_further_leaves_it_undecided(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return up_to(length, 20 if label == runs.COUPLED and seed != 1 else 10)

    assert judged(REACH, (runs.MEASURE,), value, tmp_path).outcome == "undecided"


@pytest.mark.parametrize(("deep", "outcome"), [(15, "holds"), (12, "holds"), (30, "fails")])
def test_a_second_layer_must_not_reach_further(deep: int, outcome: str, tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return up_to(length, deep if label == runs.DEEP else 15)

    assert judged(LAYERS, (runs.MEASURE,), value, tmp_path).outcome == outcome


@pytest.mark.parametrize(
    ("coupled", "given_ids", "predicted", "outcomes"),
    [
        (0.8, 0.8, 0.3, ("holds", "holds")),
        (0.8, 0.5, 0.5, ("fails", "fails")),
        (0.5, 0.8, 0.79, ("holds", "fails")),
    ],
)
def test_prediction_is_judged_against_coupling_and_against_itself(
    coupled: float,
    given_ids: float,
    predicted: float,
    outcomes: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if length <= 10:
            return 1.0
        return coupled if label == runs.COUPLED else predicted

    rows = [(seed, n, given_ids if n > 10 else 1.0) for seed in range(4) for n in range(8, 31)]
    table = polars.DataFrame(rows, schema=["seed", "length", "value"], orient="row")

    def made_up(results: Results) -> polars.DataFrame:
        return table

    monkeypatch.setattr(given, "right_sums", made_up)
    for name, outcome in zip(("given", "predicted"), outcomes, strict=True):
        verdict = judged(f"role-of-sparsity/{name}", (runs.MEASURE,), value, tmp_path)
        assert verdict.outcome == outcome
