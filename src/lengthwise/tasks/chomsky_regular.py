"""The regular tasks of the Chomsky suite (arXiv 2207.02098), each with one answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.randomness import at, below, bits
from lengthwise.tasks._base import task
from lengthwise.tasks._parallel import CHOMSKY_DEFAULTS, LONGEST, ParallelTask
from lengthwise.tasks._symbols import every_string, uniform


@dataclass(frozen=True)
class _OneAnswer(ParallelTask):
    """Independent symbols, all equally likely, and one answer."""

    def answer_size(self, length: int) -> int:
        """One."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent symbols."""
        return uniform(example, length, len(self.names))

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings."""
        return every_string(len(self.names), length, limit)


@task("even-pairs")
@dataclass(frozen=True)
class EvenPairs(_OneAnswer):
    """Whether 01 and 10 together stand an odd number of times: whether the ends differ."""

    names = ("0", "1")
    classes = 2

    def answers(self, strings: Tensor) -> Tensor:
        """The first symbol against the last."""
        return strings[:, :1] ^ strings[:, -1:]


@task("parity-check")
@dataclass(frozen=True)
class ParityCheck(_OneAnswer):
    """Whether the number of ones is odd; bits are independent."""

    names = ("0", "1")
    classes = 2

    def answers(self, strings: Tensor) -> Tensor:
        """The sum modulo 2."""
        return strings.sum(-1, keepdim=True) % 2


@task("cycle-navigation")
@dataclass(frozen=True)
class CycleNavigation(_OneAnswer):
    """Where steps back (0), none (1) and ahead (2) lead on a circle of five places."""

    names = ("0", "1", "2")
    classes = 5

    def answers(self, strings: Tensor) -> Tensor:
        """The sum of all steps modulo 5."""
        return (strings - 1).sum(-1, keepdim=True) % 5


@task("modular-arithmetic")
@dataclass(frozen=True)
class ModularArithmetic(ParallelTask):
    """Digits 0..4 with +, - and * between them, * first: the value modulo 5.

    A length counts the digits: an expression of n has 2n - 1 symbols. (The suite counts symbols,
    and what it calls an even length is one less. In its first version all operators but those of
    the first length are +, because they are kept in a generator.)
    """

    unit = "digits"
    names = (*"01234", *"+-*")
    classes = 5
    defaults: ClassVar[Mapping[str, Any]] = {
        **CHOMSKY_DEFAULTS,
        "max_train_length": 20,
        "test_lengths": (5, 10, 15, 20, 21, 25, 30, 40, *range(50, 251, 50)),
    }

    longest: int = LONGEST // 2
    """The most digits."""

    def string_size(self, length: int) -> int:
        """Digits, and operators between them."""
        return 2 * length - 1

    def answer_size(self, length: int) -> int:
        """One."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Digits and operators in turn, each equally likely."""
        words = bits(at(example, 0), 2 * length - 1)
        digit = torch.arange(2 * length - 1, device=example.device) % 2 == 0
        return torch.where(digit, below(words, 5), 5 + below(words, 3))

    def answers(self, strings: Tensor) -> Tensor:
        """The value."""
        from lengthwise.tasks._arithmetic_steps import evaluate

        values = torch.empty(len(strings), dtype=torch.int64)
        evaluate(strings.cpu().contiguous().numpy(), 0, values.numpy())
        return values.to(strings.device).unsqueeze(-1)
