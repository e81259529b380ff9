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
    the prefixes of `inputs` drawn examples, the same ones for every model and every weights. Only
    those count that are asked something, such as games that have not ended; a length at which none
    is has no reading.
    """
    key = torch.tensor(address(seed, "test"), device=fleet.device)
    drawn = task.draw(key, task.lengths[-1], inputs).inputs
    sampled = _sums(fleet, task, drawn, weights)
    for place, length in enumerate(task.lengths):
        all_inputs = task.enumerate_inputs(length, limit=inputs)
        if all_inputs is None:
            (sums, asked), last = sampled, place
        else:
            sums, asked = _sums(fleet, task, all_inputs.to(fleet.device), weights)
            last = -1
        count = int(asked[last])
        for name, total in sums.items() if count else ():
            yield Reading(name, length, total[:, last] / count, count, all_inputs is not None)


def _sums(
    fleet: Fleet, task: SequenceTask, inputs: Tensor, weights: Tensor | None
) -> tuple[dict[str, Tensor], Tensor]:
    """Sum of every measure over `inputs`, per model and prefix, `(models, length)`.

    And how many of `inputs` are asked something after each prefix, `(length,)`.
    """
    per_input = fleet.size * inputs.shape[-1] * task.classes
    sums = {
        name: torch.zeros(fleet.size, inputs.shape[-1], dtype=torch.float64, device=fleet.device)
        for name in MEASURES
    }
    asked = torch.zeros(inputs.shape[-1], dtype=torch.int64, device=fleet.device)
    for chunk in inputs.split(max(1, CHUNK_ELEMENTS // per_input)):
        logits = fleet.predict(chunk, weights)
        target = task.targets(chunk).to(logits.dtype)
        counted = target.sum(-1) > 0
        asked += counted.sum(0)
        for name, measure in MEASURES.items():
            values = measure(logits, target.expand_as(logits)).to(torch.float64)
            sums[name] += values.masked_fill(~counted, 0.0).sum(1)
    return sums, asked
