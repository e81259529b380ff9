"""The claims on the recipe for addition: their rules on made-up numbers, and quick scale."""

from pathlib import Path

import numpy as np
import pytest
from made_up import judged
from scipy import stats

from lengthwise.claims import reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.not_robustly.addition import plan as runs
from lengthwise.papers.not_robustly.addition.readings import spread

PARTS = {
    "not-robustly/hints": runs.NO_HINTS,
    "not-robustly/reversed": runs.PLAIN_ORDER,
    "not-robustly/dropout": runs.DROPOUT,
}
SEEDS = "not-robustly/seeds"
TRAINED = runs.SIZES["laptop"].trained


def test_every_claim_is_judged_at_quick_scale(tmp_path: Path) -> None:
    done = reproduce(find_claims("not-robustly"), "quick", tmp_path, ["test"])
    names = [verdict.claim.name for verdict in done.verdicts]
    assert sorted(names) == sorted([*PARTS, SEEDS])
    assert len(done.folders) == len(runs.ARMS)
    assert [picture.name for picture in done.pictures] == ["sums"]
    for table in done.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_arms_differ_in_what_they_say() -> None:
    plan = runs.plan("laptop")
    tasks = {label: run.recipe.task for label, run in plan.items()}
    assert tasks[runs.RECIPE] == tasks[runs.DROPOUT]
    assert tasks[runs.NO_HINTS].hints == 0 < tasks[runs.RECIPE].hints  # type: ignore[attr-defined]
    assert tasks[runs.PLAIN_ORDER].order == "plain"  # type: ignore[attr-defined]
    models = {run.recipe.model for run in plan.values()}
    assert len(models) == 1
    rates = {one.resid_dropout for one in plan[runs.DROPOUT].hyperparameters}
    assert rates == {0.2}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"), [(0.5, 0.1, "holds"), (0.5, 0.48, "fails"), (0.1, 0.6, "fails")]
)
def test_the_recipe_must_carry_further_than_without_a_part(
    name: str, ours: float, theirs: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if length <= TRAINED:
            return 1.0
        return theirs if label == PARTS[name] else ours

    assert judged(name, (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_a_part_without_which_nothing_is_learned_is_needed(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.0 if label == runs.NO_HINTS else 1.0 if length <= TRAINED else 0.4

    verdict = judged("not-robustly/hints", (runs.MEASURE,), value, tmp_path)
    assert verdict.outcome == "holds"
    assert verdict.findings[1].estimate.count == 0, "nowhere did both learn"


def test_a_recipe_that_was_not_learned_decides_nothing(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 0.5 if label == runs.RECIPE else 0.1

    for name in (*PARTS, SEEDS):
        assert judged(name, (runs.MEASURE,), value, tmp_path).outcome == "undecided"


@pytest.mark.parametrize(
    ("beyond", "outcome"),
    [([0.1, 0.9, 0.4, 0.8, 0.2], "holds"), ([0.5, 0.51, 0.5, 0.49, 0.5], "fails")],
)
def test_perfect_seeds_must_spread(beyond: list[float], outcome: str, tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return 1.0 if length <= TRAINED else beyond[seed % len(beyond)]

    assert judged(SEEDS, (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_seeds_that_are_not_perfect_in_range_do_not_count(tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if length <= TRAINED:
            return 0.9 if seed < 3 and length == 1 else 1.0
        return 0.9 if seed < 3 else 0.5

    verdict = judged(SEEDS, (runs.MEASURE,), value, tmp_path)
    assert verdict.outcome == "fails", "those that count do not spread"
    assert verdict.headline.estimate.count == runs.SIZES["laptop"].seeds - 3


def test_the_interval_of_a_deviation_holds_it_as_often_as_it_says() -> None:
    draws = stats.norm.rvs(scale=2.0, size=(2000, 6), random_state=np.random.default_rng(0))
    intervals = [spread(list(row)) for row in draws]
    held = np.mean([one.low <= 2.0 <= one.high for one in intervals])
    assert 0.94 < held < 0.96
    assert spread([0.3]).low == -np.inf
