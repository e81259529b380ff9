"""Strings written again: copied, sorted, counted on."""

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import below, bits
from lengthwise.tasks._base import task
from lengthwise.tasks._symbols import LONGEST, SymbolTask, every_string, orders, uniform

MOST_SYMBOLS = 10_000
"""Ours."""


@dataclass(frozen=True)
class _Distinct(SymbolTask):
    """Strings in which no symbol stands twice."""

    symbols: int = LONGEST
    """How many symbols there are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = f"{self.longest}..{MOST_SYMBOLS}, a symbol for every place of the longest string"
        fits = self.longest <= self.symbols <= MOST_SYMBOLS
        require(fits, "symbols", self.symbols, expected)

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers."""
        return tuple(map(str, range(self.symbols)))

    def strings(self, example: Tensor, length: int) -> Tensor:
        """The beginning of a random order of all symbols."""
        return orders(example, self.symbols)[..., :length]

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All choices of distinct symbols in all orders."""
        if math.perm(self.symbols, length) > limit:
            return None
        return torch.tensor(list(itertools.permutations(range(self.symbols), length)))


@task("sort")
@dataclass(frozen=True)
class Sort(_Distinct):
    """Distinct symbols, to be written in their order (arXiv 2410.02140)."""

    def answer(self, strings: Tensor) -> Tensor:
        """The same symbols, from the smallest on."""
        return strings.sort(-1).values


@task("unique-copy")
@dataclass(frozen=True)
class UniqueCopy(_Distinct):
    """Distinct symbols, to be written again (arXiv 2410.02140)."""

    def answer(self, strings: Tensor) -> Tensor:
        """The same."""
        return strings


@task("repeat-copy")
@dataclass(frozen=True)
class RepeatCopy(SymbolTask):
    """A string of a and b, independent and equally likely, to be written again (2410.02140)."""

    names = ("a", "b")

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent symbols."""
        return uniform(example, length, 2)

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings."""
        return every_string(2, length, limit)

    def answer(self, strings: Tensor) -> Tensor:
        """The same."""
        return strings


@task("count")
@dataclass(frozen=True)
class Count(_Distinct):
    """Two numbers a <= b, and all numbers from a to b are to be written (arXiv 2310.16028).

    A length counts the numbers of the answer. All a that leave room for them are equally likely.
    """

    unit = "numbers"

    def string_size(self, length: int) -> int:
        """The two numbers."""
        return 2

    def sizes(self, length: int) -> tuple[int, int]:
        """BOS, the two numbers and SEP; the answer and END."""
        return 4, length + 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """The first number and the last."""
        first = below(bits(example, 1), self.symbols - length + 1)
        return torch.cat([first, first + length - 1], -1)

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All first numbers with their last."""
        first = torch.arange(self.symbols - length + 1).unsqueeze(-1)
        return torch.cat([first, first + length - 1], -1) if len(first) <= limit else None

    def answer(self, strings: Tensor) -> Tensor:
        """All numbers from the first to the last; behind them END."""
        first, last = strings[..., :1], strings[..., 1:]
        most = int((last - first).max()) + 1
        numbers = first + torch.arange(most, device=strings.device)
        return torch.where(numbers <= last, numbers, self.end)
