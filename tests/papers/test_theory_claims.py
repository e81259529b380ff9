"""The claims that are computed: they hold, and a wrong theorem would not."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lengthwise.claims import PlannedRun, Results, every, reproduce
from lengthwise.papers import CLAIMS
from lengthwise.papers.vanishing_variance import populations
from lengthwise.papers.whats_missing import readings, theorem_4_2, theorem_4_2a, theorem_4_2b
from lengthwise.papers.whats_missing.experiment import REMEDIES
from lengthwise.papers.whats_missing.what_training_finds import (
    WHAT_TRAINING_FINDS,
    figure_training,
)
from lengthwise.report.style import save
from lengthwise.theory import Structure

RESULTS = Results("quick", {}, {}, Path())


@pytest.fixture(autouse=True)
def few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(theorem_4_2.INSTANCES, "quick", 6)
    monkeypatch.setitem(populations.POPULATIONS, "quick", 12)
    monkeypatch.setattr(theorem_4_2a, "STEPS", 100)


@pytest.mark.parametrize("name", ["theorem-4.2a", "theorem-4.2b", "balance-is-needed"])
def test_the_theorem_holds(name: str) -> None:
    assert CLAIMS[f"whats-missing/{name}"].judge(RESULTS).outcome == "holds"


def test_the_law_fails_without_balance(monkeypatch: pytest.MonkeyPatch) -> None:
    def unbalanced(vocab: int, generator: torch.Generator) -> Structure:
        ones = torch.ones(vocab, dtype=torch.float64)
        return Structure(10 * ones, 11 * ones, 0 * ones, 0 * ones, 0 * ones)

    monkeypatch.setattr(theorem_4_2b, "random_balanced", unbalanced)
    assert CLAIMS["whats-missing/theorem-4.2b"].judge(RESULTS).outcome == "fails"


@pytest.mark.parametrize("name", ["proposition-1", "condition-not-needed", "norm-reduces-decay"])
def test_the_decay_is_measured(name: str) -> None:
    verdict = CLAIMS[f"vanishing-variance/{name}"].judge(RESULTS)
    assert verdict.outcome != "fails"  # so few populations may leave it undecided
    assert verdict.headline.estimate.count == 12


def test_verdicts_rest_on_no_population_of_the_pilot() -> None:
    assert min(populations.seeds("quick")) > 63


@pytest.mark.parametrize("experiment", [theorem_4_2.THEOREM, populations.POPULATION])
def test_sections_have_words_and_pictures(experiment) -> None:
    section = experiment.section(RESULTS)
    assert section.pictures[0].svg.startswith("<svg")
    assert section.notes


def test_every_is_no_estimate() -> None:
    found = every([3.0, 1.0, 2.0])
    assert (found.low, found.mean, found.high, found.count) == (1.0, 2.0, 3.0, 3)


def test_what_training_finds_on_small_runs(tmp_path: Path) -> None:
    def plan(scale):
        return {
            label: PlannedRun(
                replace(run.recipe, vocab=6, train_length=3, steps=300, test_inputs=50),
                run.members[:2],
            )
            for label, run in readings.plan(scale).items()
        }

    claim = replace(WHAT_TRAINING_FINDS, experiment=replace(REMEDIES, plan=plan))
    done = reproduce([claim], "quick", tmp_path, [], lambda progress: None)
    findings = done.verdicts[0].findings
    assert all(finding.estimate.count == 2 for finding in findings)
    assert 0.5 < findings[1].estimate.mean <= 1
    folder = tmp_path / REMEDIES.name / "quick"
    tables = {f.path.name: f.table() for f in done.folders}
    save(figure_training(Results("quick", plan("quick"), tables, folder)), tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 10_000
