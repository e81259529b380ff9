"""Which symbol is the most frequent one: majority in four forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks._base import task
from lengthwise.tasks._symbols import (
    LONGEST,
    SYMBOL_DEFAULTS,
    SymbolTask,
    counts,
    every_string,
    uniform,
    with_ones,
)

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")


def _unequal(example: Tensor, length: int) -> Tensor:
    """Strings of 0 and 1 in random order, every number of ones but a tie equally likely."""
    ties = length % 2 == 0
    ones = below(bits(at(example, 0), 1), length + 1 - ties).squeeze(-1)
    if ties:
        ones += ones >= length // 2
    return with_ones(at(example, 1), length, ones)


@task("binary-majority")
@dataclass(frozen=True)
class BinaryMajority(SymbolTask):
    """Whether there are more zeros or more ones; never as many (arXiv 2410.02140)."""

    names = ("0", "1")

    def answer_size(self, length: int) -> int:
        """One symbol."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Every number of ones is equally likely."""
        return _unequal(example, length)

    def answer(self, strings: Tensor) -> Tensor:
        """The more frequent symbol."""
        return (2 * strings.sum(-1, keepdim=True) > strings.shape[-1]).long()


@task("interleaved-majority")
@dataclass(frozen=True)
class InterleavedMajority(SymbolTask):
    """Three strings of equal length, a symbol of each in turn; the majority of each of them.

    A length counts the symbols of one string. (arXiv 2410.02140 counts those of all three.)
    """

    unit = "symbols per string"
    names = ("0", "1")
    defaults: ClassVar[Mapping[str, Any]] = {
        **SYMBOL_DEFAULTS,
        "max_train_length": 16,
        "test_lengths": tuple(range(4, LONGEST // 3 + 1, 4)),
    }

    longest: int = LONGEST // 3
    """The longest of the strings."""

    strands: int = 3
    """How many strings there are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(1 <= self.strands <= LONGEST, "strands", self.strands, f"1..{LONGEST} strings")

    def string_size(self, length: int) -> int:
        """The symbols of all strings."""
        return self.strands * length

    def answer_size(self, length: int) -> int:
        """One symbol for each string."""
        return self.strands

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Strings as for binary majority, interleaved."""
        every = torch.arange(self.strands, device=example.device)
        return _unequal(at(example.unsqueeze(-1), every), length).transpose(-1, -2).flatten(-2)

    def answer(self, strings: Tensor) -> Tensor:
        """The more frequent symbol of each string, in their order."""
        apart = strings.unflatten(-1, (-1, self.strands))
        return (2 * apart.sum(-2) > apart.shape[-2]).long()


@task("majority")
@dataclass(frozen=True)
class Majority(SymbolTask):
    """The most frequent one of 26 letters; strings in which two share that are not drawn.

    Letters are independent and equally likely otherwise (arXiv 2410.02140).
    """

    names = LETTERS

    def answer_size(self, length: int) -> int:
        """One symbol."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """The first string of the example's stream that has a winner."""
        rows = example.reshape(-1)
        found = torch.empty(len(rows), length, dtype=torch.int64, device=example.device)
        left = torch.arange(len(rows), device=example.device)
        first = 0
        while len(left):
            # Of two letters, one pair in 26 has a winner: short strings are tried many at a time,
            # as far as memory goes.
            tries = max(1, min(256 // length, (1 << 15) // len(left)))
            number = torch.arange(first, first + tries, device=example.device)
            strings = uniform(at(rows[left].unsqueeze(-1), number), length, len(LETTERS))
            best = counts(strings, len(LETTERS)).topk(2).values
            won = best[..., 0] > best[..., 1]
            chosen = strings[torch.arange(len(left), device=left.device), won.int().argmax(-1)]
            done = won.any(-1)
            found[left[done]] = chosen[done]
            left, first = left[~done], first + tries
        return found.view(*example.shape, length)

    def answer(self, strings: Tensor) -> Tensor:
        """The winner."""
        return counts(strings, len(LETTERS)).argmax(-1, keepdim=True)


@task("mode")
@dataclass(frozen=True)
class Mode(SymbolTask):
    """The most frequent one of ten symbols, and of several the smallest.

    Symbols are independent and equally likely. They and ties are those of arXiv 2005.09561, the
    form that of the other tasks. (It is among the tasks of arXiv 2310.16028, too, with a sampling
    that we do not know.)
    """

    symbols: int = 10
    """How many symbols there are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(2 <= self.symbols <= 10_000, "symbols", self.symbols, "2..10000")

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers."""
        return tuple(map(str, range(self.symbols)))

    def answer_size(self, length: int) -> int:
        """One symbol."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent symbols."""
        return uniform(example, length, self.symbols)

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings."""
        return every_string(self.symbols, length, limit)

    def answer(self, strings: Tensor) -> Tensor:
        """The smallest of the most frequent ones."""
        many = counts(strings, self.symbols)
        small = torch.arange(self.symbols, 0, -1, device=strings.device)
        return (many * (self.symbols + 1) + small).argmax(-1, keepdim=True)
