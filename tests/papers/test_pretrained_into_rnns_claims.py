"""The claims on converted softmax models: their rules on made-up numbers, and quick scale."""

from pathlib import Path

import pytest
import torch
from made_up import judged

from lengthwise.claims import Reproduction, reproduce
from lengthwise.papers import find_claims
from lengthwise.papers.pretrained_into_rnns.source import plan as runs
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer

PAPER = "pretrained-into-rnns"
TRAINED = runs.SIZES["laptop"].trained


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("converted")


@pytest.fixture(scope="module")
def quick(out: Path) -> Reproduction:
    return reproduce(find_claims(PAPER), "quick", out, ["test"])


def test_every_claim_is_judged_at_quick_scale(quick: Reproduction) -> None:
    names = [verdict.claim.name.split("/")[1] for verdict in quick.verdicts]
    assert names == ["finetuned", "in-all", "close", "group-norm", "reach"]
    assert [picture.name for picture in quick.pictures] == ["converted"]
    assert len(quick.folders) == len(runs.ARMS)


def test_converted_models_are_nearer_to_their_softmax_model_than_ones_from_scratch(
    quick: Reproduction, out: Path
) -> None:
    place = out / "pretrained-into-rnns-source" / "quick"
    weights = {
        label: dict(load_trainer(RunFolder.open(place / label)).fleet.model(0).named_parameters())
        for label in (runs.SOFTMAX, runs.CONVERTED, runs.SCRATCH)
    }
    start = weights[runs.SOFTMAX]

    def distance(label: str) -> float:
        own = weights[label]
        assert start.keys() < own.keys(), "features are new"
        return sum(float(torch.dist(start[name], own[name]).detach()) for name in start)

    assert distance(runs.CONVERTED) < distance(runs.SCRATCH)


def test_budgets_are_equal() -> None:
    size, plan = runs.SIZES["laptop"], runs.plan("laptop")
    steps = {label: run.recipe.steps for label, run in plan.items()}
    assert steps[runs.CONVERTED] == steps[runs.SCRATCH] == steps[runs.SOFTMAX_ON] == size.after
    assert steps[runs.SCRATCH_LONG] == steps[runs.SOFTMAX] + steps[runs.CONVERTED]


def nats(in_range: dict[str, float], beyond: dict[str, float] | None = None):  # type: ignore[no-untyped-def]
    def value(label: str, measure: str, length: int, seed: int) -> float:
        return (in_range if length <= TRAINED else beyond or {}).get(label, 0.01)

    return value


@pytest.mark.parametrize(
    ("claim", "label"), [("finetuned", runs.SCRATCH), ("in-all", runs.SCRATCH_LONG)]
)
@pytest.mark.parametrize(
    ("scratch", "converted", "outcome"),
    [(0.3, 0.05, "holds"), (0.05, 0.04, "fails"), (0.01, 0.2, "fails")],
)
def test_conversion_must_beat_training_from_scratch(
    claim: str, label: str, scratch: float, converted: float, outcome: str, tmp_path: Path
) -> None:
    value = nats({label: scratch, runs.CONVERTED: converted})
    assert judged(f"{PAPER}/{claim}", (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_a_softmax_model_that_learned_nothing_decides_nothing(tmp_path: Path) -> None:
    value = nats({runs.SOFTMAX: 1.0, runs.SCRATCH: 1.0, runs.SCRATCH_LONG: 1.0})
    for claim in ("finetuned", "in-all", "close", "group-norm"):
        verdict = judged(f"{PAPER}/{claim}", (runs.MEASURE,), value, tmp_path)
        assert verdict.outcome == "undecided"


@pytest.mark.parametrize(("converted", "outcome"), [(0.02, "holds"), (0.1, "fails")])
def test_a_converted_model_must_be_close_to_softmax(
    converted: float, outcome: str, tmp_path: Path
) -> None:
    value = nats({runs.CONVERTED: converted})
    assert judged(f"{PAPER}/close", (runs.MEASURE,), value, tmp_path).outcome == outcome


@pytest.mark.parametrize(("norm", "outcome"), [(0.02, "holds"), (0.1, "fails"), (0.3, "fails")])
def test_a_norm_must_be_better_than_the_division(norm: float, outcome: str, tmp_path: Path) -> None:
    value = nats({runs.CONVERTED: 0.11, runs.CONVERTED_NORM: norm})
    assert judged(f"{PAPER}/group-norm", (runs.MEASURE,), value, tmp_path).outcome == outcome


@pytest.mark.parametrize(
    ("converted", "softmax", "outcome"),
    [(2.0, 0.5, "holds"), (0.5, 0.5, "fails"), (0.1, 0.8, "fails")],
)
def test_conversion_must_cost_beyond_training(
    converted: float, softmax: float, outcome: str, tmp_path: Path
) -> None:
    value = nats({}, {runs.CONVERTED: converted, runs.SOFTMAX_ON: softmax})
    assert judged(f"{PAPER}/reach", (runs.MEASURE,), value, tmp_path).outcome == outcome


def test_reach_is_compared_only_where_both_learned(tmp_path: Path) -> None:
    value = nats({runs.CONVERTED: 0.5}, {runs.CONVERTED: 2.0})
    assert judged(f"{PAPER}/reach", (runs.MEASURE,), value, tmp_path).outcome == "undecided"
