"""Measures of a whole fleet at the lengths of its task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from lengthwise.errors import require
from lengthwise.measures.distribution import GRADED, MEASURES, accuracy, legal_set
from lengthwise.randomness import address, at
from lengthwise.remedies import Remedy
from lengthwise.remedies._keys import Places
from lengthwise.tasks import Task, TokenTask
from lengthwise.tasks._base import map_tensors, require_answerable
from lengthwise.training import Fleet
from lengthwise.training.losses import at_answers, places_of

CHUNK_ELEMENTS = 1 << 22
"""How many logits are held at once; bounds the memory, changes no result."""

BATCH = 256
"""Inputs that are drawn at once, where every length has inputs of its own."""

MOST_LENGTHS = 1 << 12
"""A task of more lengths than that is not measured at all of them."""


@dataclass(frozen=True)
class Measurement:
    """One measure of every model at one length."""

    measure: str
    """The name of the measure."""
    length: int
    """At which length."""
    values: Tensor
    """Mean over all answers, or all inputs for an `exact_match`: `(models,)`, float64."""
    inputs: int
    """How many inputs the mean is over."""
    exact: bool
    """Whether these are all inputs of the length, so that the mean is exact."""


def measure_by_length(
    fleet: Fleet,
    task: Task,
    lengths: Sequence[int] | None = None,
    *,
    inputs: int | Mapping[int, int] = 2048,
    seed: int = 0,
    weights: Tensor | None = None,
) -> Iterator[Measurement]:
    """Measure a fleet, with its own or other `weights`.

    Lengths that have at most `inputs` different inputs are measured on all of them, others on
    inputs that are drawn, the same ones for every model and every weights. Where every prefix of an
    input is an input (`task.prefixes`), and is read as it would be alone (`Remedy.by_prefix`), one
    pass over long inputs serves all lengths, and a length is what is answered at its own place;
    elsewhere every length has inputs of its own. Inputs of which nothing is asked, such as games
    that have ended, do not count; a length at which none is left has no measurement. Answers that
    are numbers are measured by `excess_mse`, the squared distance from the best prediction there
    is, and `mse`, which adds what that one misses itself.

    Answers that end with END (`task.end`) are scored both ways. `exact_match` asks that all of an
    answer be right and END where it belongs: the model stops by itself. For
    `exact_match_length_given` the length of the answer is given: END is left out of the logits and
    where nothing else is right, nothing counts. Both are taken under teacher forcing, one pass over
    the whole answer, and equal what greedy decoding gives: as long as all tokens so far are right,
    the model has written exactly what it reads here, and after the first wrong one neither can be a
    match.

    Where whole sets are asked for (`task.legal_sets`), `legal_set` is the share of places at which
    exactly the legal answers are named, and `legal_set_match` that of inputs in which they are at
    every place.

    Args:
        fleet: The models.
        task: What to measure them on.
        lengths: At which lengths (default: all that the task has).
        inputs: How many inputs per length, or how many at each.
        seed: Seed of the inputs that are drawn.
        weights: `(models, parameters per model)`, such as an average.

    Raises:
        InputError: A length is none of the task's, or there are too many to measure all.
    """
    lengths = require_lengths(task, lengths)
    if not isinstance(inputs, Mapping):
        inputs = dict.fromkeys(lengths, inputs)
    sampled: _Sums | None = None
    remedies = [part for part in fleet.template.modules() if isinstance(part, Remedy)]
    at_once = task.prefixes and all(one.by_prefix for one in remedies)
    for length in lengths:
        every = task.enumerate_inputs(length, limit=inputs[length])
        if every is not None:
            sums = _Sums(fleet, task, weights)
            sums.add(map_tensors(lambda tensor: tensor.to(fleet.device), every))
            place = -1
        elif at_once:
            if sampled is None:
                key = torch.tensor(address(seed, "test"), device=fleet.device)
                sampled = _Sums(fleet, task, weights)
                sampled.add(task.draw(key, max(lengths), max(inputs.values())).inputs)
            sums, place = sampled, length - 1
        else:
            sums, place = _Sums(fleet, task, weights), -1
            stream = torch.tensor(address(seed, "test", length), device=fleet.device)
            for number, first in enumerate(range(0, inputs[length], BATCH)):
                count = min(BATCH, inputs[length] - first)
                sums.add(task.draw(at(stream, number), length, count).inputs)
        yield from sums.measurements(length, place, every is not None)


def require_lengths(task: Task, lengths: Sequence[int] | None) -> Sequence[int]:
    """The lengths to measure at, which must be the task's."""
    if not lengths:
        expected = f"some: the task has {len(task.lengths)}, too many to measure all"
        require(len(task.lengths) <= MOST_LENGTHS, "lengths", "all", expected)
        return task.lengths
    expected = f"one of {task.lengths[0]}..{task.lengths[-1]}, which is all this task has"
    for length in lengths:
        require(length in task.lengths, "lengths", length, expected)
    return lengths


class _Sums:
    """Sums of every measure over inputs, per model and place."""

    def __init__(self, fleet: Fleet, task: Task, weights: Tensor | None) -> None:
        self._fleet = fleet
        self._task = task
        self._weights = weights
        self._sums: dict[str, Tensor] = {}
        """`(models, places)`; one place where a task asks once, or has no prefixes."""
        self._counts: dict[str, Tensor] = {}
        """How many numbers each sum is over, `(places,)`."""
        self._inputs: Tensor | int = 0
        """How many inputs were read of which something is asked, `(places,)`."""

    def add(self, inputs: Any) -> None:
        """Let every model read `inputs`, a chunk at a time."""
        count = len(tree_leaves(inputs)[0])
        targets = self._task.targets(inputs)
        require_answerable(inputs, targets[..., 0])
        variances = self._task.variances(inputs) if self._task.numbers else None
        asked = self._places(inputs, targets)
        if asked is not None:
            targets = targets[:, asked]
        per_input = self._fleet.size * targets[0].numel()
        size = max(1, CHUNK_ELEMENTS // per_input)
        for first in range(0, count, size):
            part = slice(first, first + size)
            chunk = map_tensors(itemgetter(part), inputs)
            predicted = self._fleet.predict(chunk, self._weights, asked=asked)
            if variances is None:
                self._add(predicted, targets[part])
            else:
                self._add_numbers(predicted, targets[part], variances[part])

    def _places(self, inputs: Any, targets: Tensor) -> Places | None:
        """Where anything is asked, if models need read nowhere else; prefixes have all places."""
        if self._task.prefixes or self._task.numbers or targets.dim() != 3:
            return None
        return places_of(targets.sum(-1) > 0) if self._fleet.takes(inputs) else None

    def measurements(self, length: int, place: int, exact: bool) -> Iterator[Measurement]:
        """All measures at one place."""
        assert isinstance(self._inputs, Tensor)
        inputs = int(self._inputs[place])
        for name, total in self._sums.items() if inputs else ():
            count = int(self._counts[name][place])
            if count:
                yield Measurement(name, length, total[:, place] / count, inputs, exact)

    def _add(self, logits: Tensor, target: Tensor) -> None:
        logits = at_answers(logits, target.dim())
        target = target.to(logits.dtype)
        asked = target.sum(-1) > 0
        if asked.dim() == 1:
            asked, target, logits = asked.unsqueeze(1), target.unsqueeze(1), logits.unsqueeze(2)
        legal = target > 0
        self._note(asked)
        for name, measure in (GRADED if self._task.graded else MEASURES).items():
            values = measure(logits, target.expand_as(logits)).to(torch.float64)
            counted = asked & ~legal.all(-1) if name == "displacement" else asked
            self._sum(name, values, counted)
            if name == "accuracy":
                self._match("exact_match", values, asked, asked)
        if self._task.legal_sets:
            named = legal_set(logits, target.expand_as(logits)).to(torch.float64)
            self._sum("legal_set", named, asked)
            self._match("legal_set_match", named, asked, asked)
        end = self._task.end if isinstance(self._task, TokenTask) else None
        if end is not None and not self._task.graded:
            other = torch.arange(self._task.classes, device=target.device) != end
            right = accuracy(logits.masked_fill(~other, -torch.inf), target.expand_as(logits))
            self._match(
                "exact_match_length_given", right.to(torch.float64), (legal & other).any(-1), asked
            )

    def _add_numbers(self, predicted: Tensor, target: Tensor, variance: Tensor) -> None:
        """Squared errors, each the mean over the numbers of an answer."""
        predicted = at_answers(predicted, target.dim()).to(torch.float64)
        excess = (predicted - target).square().mean(-1)
        missed = variance.to(torch.float64).mean(-1).expand_as(excess)
        if excess.dim() == 2:
            excess, missed = excess.unsqueeze(2), missed.unsqueeze(2)
        asked = torch.ones(excess.shape[1:], dtype=torch.bool, device=excess.device)
        self._sum("mse", excess + missed, asked)
        self._sum("excess_mse", excess, asked)
        self._note(asked)

    def _note(self, asked: Tensor) -> None:
        """Count the inputs of which something is asked."""
        whole = asked if self._task.prefixes else asked.any(-1, keepdim=True)
        self._inputs = self._inputs + whole.sum(0)

    def _match(self, name: str, right: Tensor, scored: Tensor, asked: Tensor) -> None:
        """Add whether all that is `scored` is right, of every input of which something is asked."""
        right = right.masked_fill(~scored, 1.0)
        if self._task.prefixes:  # a prefix is right if all before it were
            self._sum(name, right.cumprod(-1), asked)
        else:
            self._sum(name, right.prod(-1, keepdim=True), asked.any(-1, keepdim=True))

    def _sum(self, name: str, values: Tensor, counted: Tensor) -> None:
        """Add `(models, inputs, places)`; without prefixes, all places of an input are one."""
        total, count = values.masked_fill(~counted, 0.0).sum(1), counted.sum(0)
        if not self._task.prefixes:
            total, count = total.sum(-1, keepdim=True), count.sum(-1, keepdim=True)
        self._sums[name] = self._sums[name] + total if name in self._sums else total
        self._counts[name] = self._counts[name] + count if name in self._counts else count
