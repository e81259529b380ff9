"""The claims that are computed: they hold, and a wrong theorem would not."""

from pathlib import Path

import pytest
import torch

from lengthwise.claims import Results
from lengthwise.papers import CLAIMS
from lengthwise.papers.vanishing_variance.populations import norm_decay, population, proposition_1
from lengthwise.papers.vanishing_variance.populations.section import POPULATION
from lengthwise.papers.whats_missing.theorem_4_2 import instances, part_a, part_b
from lengthwise.papers.whats_missing.theorem_4_2.section import THEOREM
from lengthwise.theory import Structure

RESULTS = Results("quick", {}, {}, Path())


@pytest.fixture(autouse=True)
def few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(instances.INSTANCES, "quick", 6)
    monkeypatch.setitem(population.POPULATIONS, "quick", 12)
    monkeypatch.setattr(part_a, "STEPS", 100)


@pytest.mark.parametrize("name", ["theorem-4.2a", "theorem-4.2b", "balance-is-needed"])
def test_the_theorem_holds(name: str) -> None:
    assert CLAIMS[f"whats-missing/{name}"].judge(RESULTS).outcome == "holds"


def test_the_law_fails_without_balance(monkeypatch: pytest.MonkeyPatch) -> None:
    def unbalanced(vocab: int, generator: torch.Generator) -> Structure:
        ones = torch.ones(vocab, dtype=torch.float64)
        return Structure(10 * ones, 11 * ones, 0 * ones, 0 * ones, 0 * ones)

    monkeypatch.setattr(part_b, "random_balanced", unbalanced)
    assert CLAIMS["whats-missing/theorem-4.2b"].judge(RESULTS).outcome == "fails"


@pytest.fixture(scope="module")
def results() -> Results:
    """Of which the populations are drawn once."""
    return Results("quick", {}, {}, Path())


@pytest.mark.parametrize("name", ["proposition-1", "condition-not-needed"])
def test_the_deviation_falls_as_derived(name: str, results: Results) -> None:
    findings = CLAIMS[f"vanishing-variance/{name}"].judge(results).findings
    rate = next(one for one in findings if one.effect.startswith("rate k"))
    assert rate.outcome == "holds"
    assert rate.estimate.mean == pytest.approx(0.5, abs=0.01)
    assert (rate.estimate.count, rate.estimate.unit) == (12, "populations")
    agreed = [one.estimate.mean for one in findings if "as predicted" in one.effect]
    assert len(agreed) == 3
    assert min(agreed[:2]) > 0.98, "the third is at N = 64, where the formula is least exact"


def test_a_norm_keeps_more_and_yet_loses(results: Results) -> None:
    kept, *_, level = CLAIMS["vanishing-variance/norm-reduces-decay"].judge(results).findings
    assert kept.estimate.mean > 1.05, "so few populations may leave the claim undecided"
    assert "limit equal in all features" in level.effect
    assert level.outcome == "fails", "where all features have one limit, the norm removes the decay"


def made_up(rate: float, normed: float, agrees: float) -> dict[int, population.Spreads]:
    """Populations whose deviation falls at these rates, with a little noise from seed to seed."""
    return {
        seed: {
            n: population.Spread(
                n ** -(rate + seed / 1000), n ** -(normed + seed / 1000),
                torch.ones(1), 1.0, agrees + seed / 10_000, agrees,
            )
            for n in population.COUNTS
        }
        for seed in range(5)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "normed", "agrees", "proposition", "norm"),
    [
        (0.5, 0.2, 0.997, "holds", "holds"),
        (0.3, 0.2, 0.997, "fails", "holds"),
        (0.5, 0.2, 0.9, "fails", "holds"),
        (0.5, 0.5, 0.997, "holds", "fails"),
        (0.5, 0.01, 0.997, "holds", "fails"),
    ],
)
def test_claims_on_populations_follow_the_numbers(
    rate: float, normed: float, agrees: float, proposition: str, norm: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(population, "spreads", lambda results, kind: made_up(rate, normed, agrees))
    results = Results("quick", {}, {}, Path())
    assert proposition_1.PROPOSITION_1.judge(results).outcome == proposition
    assert norm_decay.NORM_DECAY.judge(results).outcome == norm


def test_verdicts_rest_on_no_population_of_the_pilot() -> None:
    assert min(population.seeds("quick")) > 63


@pytest.mark.parametrize("experiment", [THEOREM, POPULATION])
def test_sections_have_pictures(experiment) -> None:
    assert experiment.section(RESULTS).pictures[0].svg.startswith("<svg")
