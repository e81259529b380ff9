"""Measures of a whole fleet at every length of its task."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.measures.distribution import MEASURES
from lengthwise.randomness import address
from lengthwise.tasks import SequenceTask
from lengthwise.training import Fleet

CHUNK_ELEMENTS = 1 << 22
"""How many logits are held at once; bounds the memory, changes no result."""


@dataclass(frozen=True)
class Reading:
    """One measure of every model at one length."""

    measure: str
    length: int
    values: Tensor
    """Mean over the inputs, `(models,)`, float64."""
    inputs: int
    """How many inputs the mean is over."""
    exact: bool
    """Whether these are all inputs of the length, so that the mean is exact."""


def measure_by_length(
    fleet: Fleet, task: SequenceTask, inputs: int, seed: int, weights: Tensor | None = None
) -> Iterator[Reading]:
    """Measure a fleet, with its own or other `weights`, at all lengths of `task`.

    Lengths that have at most `inputs` different inputs are measured on all of them; the others on
    the prefixes of `inputs` drawn examples, the same ones for every model and every weights.
    """
    key = torch.tensor(address(seed, "test"), device=fleet.device)
    drawn = task.draw(key, task.lengths[-1], inputs).inputs
    sampled = _means(fleet, task, drawn, weights)
    for place, length in enumerate(task.lengths):
        all_inputs = task.enumerate_inputs(length, limit=inputs)
        if all_inputs is None:
            means, count, last = sampled, inputs, place
        else:
            means = _means(fleet, task, all_inputs.to(fleet.device), weights)
            count, last = len(all_inputs), -1
        for name, values in means.items():
            yield Reading(name, length, values[:, last], count, all_inputs is not None)


def _means(
    fleet: Fleet, task: SequenceTask, inputs: Tensor, weights: Tensor | None
) -> dict[str, Tensor]:
    """Mean of every measure over `inputs`, per model and prefix: `(models, length)`."""
    per_input = fleet.size * inputs.shape[-1] * task.classes
    sums = {
        name: torch.zeros(fleet.size, inputs.shape[-1], dtype=torch.float64, device=fleet.device)
        for name in MEASURES
    }
    for chunk in inputs.split(max(1, CHUNK_ELEMENTS // per_input)):
        logits = fleet.predict(chunk, weights)
        target = task.targets(chunk).to(logits.dtype).expand_as(logits)
        for name, measure in MEASURES.items():
            sums[name] += measure(logits, target).to(torch.float64).sum(1)
    return {name: total / len(inputs) for name, total in sums.items()}
