import math
from pathlib import Path

import numpy as np
import pytest

from lengthwise.claims import Claim, Estimate, Experiment, Finding, Results, Section, estimate
from lengthwise.claims.statistics import student_t


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.30265), (7, 2.36462), (11, 2.20099), (30, 2.04227), (1000, 1.96234)],
)
def test_quantiles_of_students_t_against_published_tables(freedom: int, quantile: float) -> None:
    assert math.isclose(student_t(0.975, freedom), quantile, rel_tol=1e-5)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    trials = 4000
    covered = 0
    for _ in range(trials):
        one = estimate(generator.normal(1.0, 2.0, size=5))
        covered += one.low <= 1.0 <= one.high
    assert abs(covered / trials - 0.95) < 4 * (0.95 * 0.05 / trials) ** 0.5


def test_one_seed_decides_nothing() -> None:
    finding = Finding("effect", estimate([100.0]), smallest=0.0)
    assert finding.outcome == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(1.1, 2.0, "holds"), (0.5, 0.9, "fails"), (0.9, 1.2, "undecided"), (1.0, 1.2, "undecided")],
)
def test_an_outcome_needs_the_whole_interval(low: float, high: float, outcome: str) -> None:
    assert Finding("effect", Estimate((low + high) / 2, low, high, 8), 1.0).outcome == outcome


def findings(*outcomes: tuple[str, bool]) -> list[Finding]:
    bounds = {"holds": (2.0, 3.0), "fails": (0.1, 0.2), "undecided": (0.5, 2.0)}
    return [
        Finding(outcome, Estimate(1.0, *bounds[outcome], 8), 1.0, decides=decides)
        for outcome, decides in outcomes
    ]


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([("holds", True)], "holds"),
        ([("holds", True), ("undecided", True)], "undecided"),
        ([("holds", True), ("fails", True)], "fails"),
        ([("holds", True), ("fails", False)], "holds"),
        ([("undecided", True), ("holds", False)], "undecided"),
    ],
)
def test_a_claim_rests_on_all_that_decides(given: list[tuple[str, bool]], verdict: str) -> None:
    experiment = Experiment("none", lambda scale: {}, lambda results: Section("", "", (), ()))
    claim = Claim("paper/claim", "Sentence.", "source", experiment, lambda _: findings(*given))
    assert claim.judge(Results("quick", {}, {}, Path())).outcome == verdict
