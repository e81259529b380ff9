"""The claims on differential attention: their rules, and the whole at quick scale."""

from pathlib import Path

import numpy as np
import pytest
import torch
from made_up import judged

from lengthwise.claims import Reproduction, Results, reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.differential_transformer.noise import best_lambda as noise
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.papers.differential_transformer.retrieval import sweep
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer

PAPER = "differential-transformer"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("differential")


@pytest.fixture(scope="module")
def quick(out: Path) -> Reproduction:
    return reproduce(find_claims(PAPER), "quick", out, ["test"])


def test_every_claim_is_judged_at_quick_scale(quick: Reproduction) -> None:
    names = [verdict.claim.name for verdict in quick.verdicts]
    assert names == [f"{PAPER}/{one}" for one in ("retrieval", "head-norm", "best-lambda", "noise")]
    assert quick.verdicts[-1].outcome == "holds", "nothing is trained for it"
    assert len(quick.pictures) == 3
    for table in quick.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_arms_have_as_many_weights_but_for_the_second_version(quick: Reproduction) -> None:
    (sizes,) = (table for table in quick.tables if table.name == "sizes")
    counts = {row[0]: int(row[1]) for row in sizes.rows}
    softmax, _, differential, *_, second = (arm.line.title for arm in runs.ARMS.values())
    assert abs(counts[differential] / counts[softmax] - 1) < 0.03
    assert counts[second] > 1.05 * counts[softmax]


def test_the_sweep_at_the_learned_lambda_is_what_the_run_measured(
    quick: Reproduction, out: Path
) -> None:
    folder = out / "differential-retrieval" / "quick"
    run = RunFolder.open(folder / runs.label("argmax", runs.DIFFERENTIAL))
    model = load_trainer(run).fleet.model(0).eval()
    own = sweep.remedy_of(model).share.item()
    copied = sweep.with_lambda(model, own)
    assert sweep.remedy_of(copied).share.item() == pytest.approx(own, abs=1e-5)
    batch = run.recipe.task.draw(torch.tensor(7), 20, 16)
    logits = model(batch.inputs)
    torch.testing.assert_close(copied(batch.inputs), logits, rtol=1e-4, atol=1e-4)
    none, whole = (sweep.with_lambda(model, share) for share in (0.0, 1.0))
    mixes = [
        one.read(batch.inputs.query, 20, lambda: [batch.inputs.items]).before_norm
        for one in (none, whole)
    ]
    between = sweep.answered(model, mixes[0] + own * (mixes[1] - mixes[0]))
    torch.testing.assert_close(between, logits, rtol=1e-4, atol=1e-4)


def test_the_best_lambda_is_the_middle_of_those_that_share_the_highest_accuracy() -> None:
    accuracy = np.zeros((2, len(sweep.LAMBDAS)))
    accuracy[0, 4] = 1.0
    accuracy[1, [2, 6]] = 0.5
    assert sweep.best(accuracy) == pytest.approx(sweep.LAMBDAS[[4, 4]])


def accuracy_at(length: int) -> float:
    """That of models which learn the task and break at 128 items."""
    return 0.95 if length <= 64 else 0.5


GAINS = [(0.05, "holds"), (0.0, "fails"), (-0.05, "fails")]


@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_retrieval_follows_the_gain_where_softmax_breaks(
    gain: float, outcome: str, tmp_path: Path
) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        if label.endswith("second-version"):
            return accuracy_at(length) + 0.2  # must not count
        helped = gain if length >= 128 else -gain
        return accuracy_at(length) + helped * label.endswith("-differential")

    assert judged(f"{PAPER}/retrieval", ("accuracy",), value, tmp_path).outcome == outcome


@pytest.mark.parametrize(("gain", "outcome"), GAINS)
def test_the_head_norm_must_gain_on_both_tasks(gain: float, outcome: str, tmp_path: Path) -> None:
    def value(label: str, measure: str, length: int, seed: int) -> float:
        gains = {"argmax-differential": 0.1, "dictionary-differential": gain}
        return accuracy_at(length) + gains.get(label, 0.0) * (length >= 128)

    assert judged(f"{PAPER}/head-norm", ("accuracy",), value, tmp_path).outcome == outcome


def test_models_that_learned_nothing_leave_claims_undecided(tmp_path: Path) -> None:
    verdict = judged(f"{PAPER}/retrieval", ("accuracy",), lambda *_: 0.1, tmp_path)
    assert verdict.outcome == "undecided"


def test_common_noise_cancels_at_the_lambda_that_the_notes_give(tmp_path: Path) -> None:
    scores = np.random.default_rng(1).normal(size=50)
    first, second = noise.maps(scores)
    total = np.exp(scores).sum()
    best = total / (total + (np.exp(noise.GAP) - 1) * np.exp(scores[0]))
    weights = first - best * second
    assert np.abs(weights[1:]).max() < 1e-12
    assert weights[0] > 0.1
    results = Results("quick", {}, {}, tmp_path)
    grown = [noise.shares(results, count).best.mean() for count in noise.COUNTS]
    assert grown == sorted(grown)
