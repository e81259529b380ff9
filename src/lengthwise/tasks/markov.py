"""A Markov source: the next token depends on the last one and on one far back, with noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy
import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import address, at, below, bits, unit
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import examples, one_hot, shuffled

_NOISE, _TOKENS = range(2)
"""The streams of an example."""


@task("markov")
@dataclass(frozen=True)
class Markov(TokenTask):
    """A language whose next token is known up to noise from the tokens 1 and `reach` back.

    Which token follows two others is said by a fixed table, in which no token stands twice in a row
    or a column: either of the two alone says nothing. With the probability `noise`, and where there
    is no token so far back, the next token is uniform. (A source that rewards order and a long
    context, as arXiv 2212.10554 needs one; ours.)
    """

    prefixes = True
    graded = True
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "gpt",
        "max_train_length": 64,
        "test_lengths": (1, 16, 32, 48, 64, 72, 80, 96, 128, 192, 256, 512, 1024),
        "test_inputs": 64,
        "steps": 4000,
        "batch": 32,
        "learning_rate": 1e-3,
    }

    symbols: int = 8
    """How many tokens there are."""

    reach: int = 12
    """How far back the other token stands."""

    noise: float = 0.1
    """How often the next token is uniform instead."""

    longest: int = 1024
    """The most tokens."""

    def __post_init__(self) -> None:
        require(self.symbols >= 2, "symbols", self.symbols, "at least 2")
        require(self.reach >= 2, "reach", self.reach, "at least 2, as 1 back is the last token")
        require(0 <= self.noise <= 1, "noise", self.noise, "a probability in [0, 1]")
        expected = f"at least reach = {self.reach}"
        require(self.longest >= self.reach, "longest", self.longest, expected)

    @property
    def classes(self) -> int:
        """The tokens."""
        return self.symbols

    @property
    def lengths(self) -> range:
        """One token or more."""
        return range(1, self.longest + 1)

    def count_inputs(self, length: int) -> int | None:
        """All strings, where they are equally likely."""
        return self.symbols**length if length <= self.reach else None

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Tokens of the source, and those that follow."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        from lengthwise.tasks._kernels import follow

        streams = examples(key, count).flatten()
        noisy = unit(bits(at(streams, _NOISE), length + 1)) < self.noise
        drawn = below(bits(at(streams, _TOKENS), length + 1), self.symbols).cpu().numpy()
        tokens = numpy.empty_like(drawn)
        table = latin_square(self.symbols)
        follow(drawn, noisy.cpu().numpy(), table.numpy(), self.reach, tokens)
        found = torch.from_numpy(tokens).to(key.device).view(*key.shape, count, length + 1)
        return Batch(found[..., :-1], found[..., 1:])

    def targets(self, inputs: Tensor) -> Tensor:
        """The table's token and the noise; uniform where there is no token so far back."""
        even = torch.full((self.symbols,), 1 / self.symbols, device=inputs.device)
        targets = even.repeat(*inputs.shape, 1)
        if inputs.shape[-1] >= self.reach:
            last, far = inputs[..., self.reach - 1 :], inputs[..., : 1 - self.reach]
            named = one_hot(latin_square(self.symbols).to(inputs.device)[last, far], self.symbols)
            targets[..., self.reach - 1 :, :] = (1 - self.noise) * named + self.noise * even
        return targets


@cache
def latin_square(size: int) -> Tensor:
    """A table of 0..size-1 without an equal pair in a row or a column, mixed by fixed streams."""
    streams = at(torch.tensor(address("markov", size)), torch.arange(3))
    rows, columns, names = shuffled(streams, torch.arange(size), size)
    return names[(rows.unsqueeze(1) + columns) % size]
