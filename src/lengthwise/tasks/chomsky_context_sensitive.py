"""The context-sensitive tasks of the Chomsky suite (arXiv 2207.02098)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.randomness import at, below, bits
from lengthwise.tasks._base import IGNORE_INDEX, task
from lengthwise.tasks._bits import to_bits, to_numbers
from lengthwise.tasks._parallel import CHOMSKY_DEFAULTS, ParallelTask
from lengthwise.tasks._symbols import every_string, uniform

_SIGN = 2
"""The token between two numbers."""


@dataclass(frozen=True)
class _Independent(ParallelTask):
    """Independent symbols, all equally likely."""

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent symbols."""
        return uniform(example, length, len(self.names))

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings."""
        return every_string(len(self.names), length, limit)


@task("duplicate-string")
@dataclass(frozen=True)
class DuplicateString(_Independent):
    """Independent bits, to be written twice."""

    names = ("0", "1")
    classes = 2

    def answer_size(self, length: int) -> int:
        """Twice as many."""
        return 2 * length

    def answers(self, strings: Tensor) -> Tensor:
        """Twice the string."""
        return strings.repeat(1, 2)


@task("odds-first")
@dataclass(frozen=True)
class OddsFirst(_Independent):
    """Independent bits: the first, the third and so on are to be written, then the others.

    (This is what the suite describes; its code writes the second, the fourth and so on first.)
    """

    names = ("0", "1")
    classes = 2

    def answer_size(self, length: int) -> int:
        """As many."""
        return length

    def answers(self, strings: Tensor) -> Tensor:
        """Odd places, counted from 1, then even ones."""
        return torch.cat([strings[:, ::2], strings[:, 1::2]], -1)


@task("bucket-sort")
@dataclass(frozen=True)
class BucketSort(_Independent):
    """Independent symbols 0..4, to be written in their order.

    Who answers floor(5 (i + 1/2) / n) at place i, without reading the string, is right 78 % of the
    time at 41 symbols and 94 % at 500.
    """

    names = tuple("01234")
    classes = 5

    def answer_size(self, length: int) -> int:
        """As many."""
        return length

    def answers(self, strings: Tensor) -> Tensor:
        """From the smallest on."""
        return strings.sort(-1).values


@task("missing-duplicate")
@dataclass(frozen=True)
class MissingDuplicate(ParallelTask):
    """A string of independent bits, twice, in which a ? stands for one of them: that bit.

    Behind the strings of an odd length stands a - in place of a symbol. (The suite gives inputs of
    one symbol, to which there is no question.)
    """

    names = ("0", "1", "?", "-")
    classes = 2
    defaults: ClassVar[Mapping[str, Any]] = {**CHOMSKY_DEFAULTS, "min_train_length": 2}

    @property
    def lengths(self) -> range:
        """From one bit, twice, on."""
        return range(2, self.longest + 1)

    def answer_size(self, length: int) -> int:
        """One."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Any of all places is hidden."""
        half = length // 2
        twice = uniform(at(example, 0), half, 2).repeat(1, 2)
        hidden = below(bits(at(example, 1), 1), 2 * half)
        found = torch.where(torch.arange(2 * half, device=example.device) == hidden, 2, twice)
        return torch.nn.functional.pad(found, (0, length % 2), value=3)

    def answers(self, strings: Tensor) -> Tensor:
        """What stands in the same place of the other copy."""
        half = strings.shape[-1] // 2
        first, second = strings[:, :half], strings[:, half : 2 * half]
        place = ((first == 2) | (second == 2)).long().argmax(-1, keepdim=True)
        one, other = first.gather(-1, place), second.gather(-1, place)
        return torch.where(one == 2, other, one)


@dataclass(frozen=True)
class _Binary(ParallelTask):
    """Two binary numbers, the lowest digit first, with a sign between them.

    How long the first one is, is uniform. All positive numbers that fit are equally likely; they
    may have zeros behind their highest one.
    """

    classes = 3
    defaults: ClassVar[Mapping[str, Any]] = {**CHOMSKY_DEFAULTS, "min_train_length": 3}

    multiplied: ClassVar[bool] = False
    """Whether the product is to be written; otherwise it is the sum."""

    @property
    def lengths(self) -> range:
        """From two digits and the sign on; the suite has shorter inputs, without a sign."""
        return range(3, self.longest + 1)

    @property
    def end(self) -> int:
        """The 2 behind the digits."""
        return 2

    def strings(self, example: Tensor, length: int) -> Tensor:
        """A number, the sign and a number."""
        from lengthwise.tasks._drawing import fill_pairs

        found = torch.empty(len(example), length, dtype=torch.int64)
        fill_pairs(example.cpu().numpy(), _SIGN, found.numpy())
        return found.to(example.device)

    def answers(self, strings: Tensor) -> Tensor:
        """The digits without zeros behind the highest one, and 2."""
        from lengthwise.tasks._arithmetic_steps import combine_numbers

        rows, length = strings.shape
        found = torch.empty(rows, self.answer_size(length), dtype=torch.int64)
        given = strings.cpu().contiguous().numpy()
        combine_numbers(given, self.multiplied, IGNORE_INDEX, found.numpy())
        return found.to(strings.device)


@task("binary-addition")
@dataclass(frozen=True)
class BinaryAddition(_Binary):
    """Two binary numbers, the lowest digit first: their sum, and 2 behind it."""

    names = ("0", "1", "+")

    def answer_size(self, length: int) -> int:
        """As the suite has it: one more than there are symbols."""
        return length + 1


@task("binary-multiplication")
@dataclass(frozen=True)
class BinaryMultiplication(_Binary):
    """Two binary numbers, the lowest digit first: their product, and 2 behind it."""

    names = ("0", "1", "*")
    multiplied = True

    def answer_size(self, length: int) -> int:
        """The digits of both, and the 2."""
        return length


@task("compute-sqrt")
@dataclass(frozen=True)
class ComputeSqrt(ParallelTask):
    """A binary number, the highest digit first: its square root, rounded down.

    All positive numbers are equally likely.
    """

    names = ("0", "1")
    classes = 2

    def answer_size(self, length: int) -> int:
        """Half as many digits, rounded up."""
        return -(-length // 2)

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent bits, not all of them 0."""
        from lengthwise.tasks._drawing import fill_positive

        found = torch.empty(len(example), length, dtype=torch.int64)
        fill_positive(example.cpu().numpy(), found.numpy())
        return found.flip(-1).to(example.device)

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings but that of zeros."""
        every = every_string(2, length, limit + 1)
        return None if every is None else every[1:]

    def answers(self, strings: Tensor) -> Tensor:
        """The root, with zeros in front."""
        roots = [math.isqrt(number) for number in to_numbers(strings.flip(-1))]
        return to_bits(roots, self.answer_size(strings.shape[-1]), strings.device).flip(-1)
