"""Trained models with differential attention, read with every lambda."""

import copy
import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lengthwise.claims import Results, once
from lengthwise.measures.sets import read_sets
from lengthwise.models import SetReader
from lengthwise.papers.differential_transformer.retrieval import plan as runs
from lengthwise.remedies.differential import Differential
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer
from lengthwise.tasks import SetTask

LAMBDAS = np.linspace(0.0, 1.2, 25)


@once
def accuracies(results: Results, task: str) -> dict[int, npt.NDArray[np.float64]]:
    """Accuracy by number of items, `(models, lambdas)`, on the same sets for all."""
    recipe = results.plan[runs.label(task, runs.DIFFERENTIAL)].recipe
    assert isinstance(recipe.task, SetTask)
    models = trained(results, task)
    found = {}
    for length in recipe.test_lengths:
        inputs = min(runs.SIZES[results.scale].swept_inputs, (recipe.test_items or 0) // length)
        right = np.zeros((len(models), len(LAMBDAS)))
        # Mixes are linear in lambda, so that reading with two of them is reading with all.
        both = [with_lambda(model, share) for model in models for share in (0.0, 1.0)]
        for lookup, readers in read_sets(both, recipe.task, length, inputs, recipe.test_seed):
            mixes = [one.before_norm for one in readers]
            for number, model in enumerate(models):
                none, whole = mixes[2 * number : 2 * number + 2]
                for place, share in enumerate(LAMBDAS):
                    logits = answered(model, none + share * (whole - none))
                    right[number, place] += (logits.argmax(-1) == lookup.label).sum().item()
        found[length] = right / inputs
    return found


@once
def learned_lambdas(results: Results, task: str) -> list[float]:
    """What every model learned lambda to be."""
    return [remedy_of(model).share.item() for model in trained(results, task)]


@once
def trained(results: Results, task: str) -> list[SetReader]:
    """The trained models with differential attention, by seed."""
    fleet = load_trainer(RunFolder.open(results.folder / runs.label(task, runs.DIFFERENTIAL))).fleet
    return [fleet.model(number).eval() for number in range(fleet.size)]  # type: ignore[misc]


def with_lambda(model: SetReader, share: float) -> SetReader:
    """A copy of a model whose lambda is what it is told."""
    copied = copy.deepcopy(model)
    one = remedy_of(copied)
    with torch.no_grad():
        one.vectors.zero_()
        one.vectors[0, 0] = math.log(share - one.start + 1)  # exp of it, less exp 0, is the rest
        one.vectors[1, 0] = 1
    return copied


def remedy_of(model: SetReader) -> Differential:
    """The part of it that takes differences."""
    (one,) = (part for part in model.modules() if isinstance(part, Differential))
    return one


@torch.no_grad()
def answered(model: SetReader, mixed: Tensor) -> Tensor:
    """Logits out of the mix of values before the head norm, `(batch, values of all heads)`."""
    heads = mixed.unflatten(-1, (model.attention.heads, -1))
    logits: Tensor = model.answer(model.attention.finish(heads).output)
    return logits


def best(accuracy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The lambda with the highest accuracy of every model; the mean of those that share it."""
    highest = accuracy == accuracy.max(-1, keepdims=True)
    means: npt.NDArray[np.float64] = (highest * LAMBDAS).sum(-1) / highest.sum(-1)
    return means
