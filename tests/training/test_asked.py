"""Training reads the last layer only where something is asked, which changes nothing."""

from dataclasses import replace

import pytest
import torch

from lengthwise.measures import measure_by_length
from lengthwise.models import GPTModel
from lengthwise.registry import TASKS
from lengthwise.runs import Recipe
from lengthwise.tasks import IGNORE_INDEX
from lengthwise.training import Hyperparameters
from lengthwise.training.losses import places_asked

MODEL = GPTModel(layers=2, heads=2, width=16, remedies=("rotary",))


def recipe(task: str, **fields: object) -> Recipe:
    kind = TASKS.get(task)
    made = Recipe(task=kind(), model=MODEL, max_train_length=5, batch=8, steps=6)
    return replace(made, **fields)


def test_places() -> None:
    """A range, evenly spaced ones, others, all of them, none."""
    labels = torch.full((2, 3, 8), IGNORE_INDEX)
    assert places_asked(labels) is None
    labels[0, 1, 5] = labels[1, 0, 7] = 1
    assert places_asked(labels) == slice(5, 8, 2)
    labels[1, 2, 6] = 0
    assert places_asked(labels) == slice(5, 8, 1)
    labels[1, 2, 1] = 0
    found = places_asked(labels)
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [1, 5, 6, 7]
    assert places_asked(torch.zeros_like(labels)) is None


@pytest.mark.parametrize("task", ["flip-flop", "unique-copy", "majority"])
@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("loss", ["sampled", "soft"])
def test_steps_are_the_same_as_with_all_places(task: str, models: int, loss: str) -> None:
    """Weights after some steps, alone and in a fleet, of parts of a batch too."""
    every = [Hyperparameters(seed=seed, loss=loss) for seed in range(models)]  # type: ignore[arg-type]
    weights = []
    for fast in (True, False):
        trainer = recipe(task, accumulate=2).trainer(every)
        assert trainer.fleet.by_query
        assert trainer._asked(trainer._batch(0)) is not None
        trainer.fleet.by_query = fast
        trainer.run()
        weights.append(trainer.fleet.weights)
    torch.testing.assert_close(*weights, rtol=0, atol=2e-5)


def test_not_where_masks_or_remedies_need_all_places() -> None:
    """Dropout draws a mask per place, and selective attention adds up over queries."""
    dropout = [Hyperparameters(), Hyperparameters(resid_dropout=0.1)]
    assert not recipe("majority").trainer(dropout).fleet.by_query
    for remedies in (("selective",), ("stick-breaking",), ("rotary", "selective")):
        other = recipe("majority", model=replace(MODEL, remedies=remedies))
        assert not other.trainer([Hyperparameters()]).fleet.by_query
    assert (
        not recipe("majority", model=replace(MODEL, remedies=("blockwise",)))
        .trainer([Hyperparameters()])
        .fleet.by_query
    )


@pytest.mark.parametrize("task", ["flip-flop", "unique-copy", "majority", "crasp-parity"])
@pytest.mark.parametrize("models", [1, 3])
def test_measures_are_the_same_as_with_all_places(task: str, models: int) -> None:
    """Every measure at every length, where the last layer reads some places alone."""
    trainer = recipe(task).trainer([Hyperparameters(seed=seed) for seed in range(models)])
    trainer.run()
    found = []
    for fast in (True, False):
        trainer.fleet.by_query = fast
        found.append(list(measure_by_length(trainer.fleet, trainer.task, [4, 9], inputs=40)))
    assert len(found[0]) == len(found[1]) > 4
    for ours, whole in zip(*found, strict=True):
        assert (ours.measure, ours.length, ours.inputs) == (
            whole.measure,
            whole.length,
            whole.inputs,
        )
        torch.testing.assert_close(ours.values, whole.values, rtol=1e-5, atol=1e-6)
