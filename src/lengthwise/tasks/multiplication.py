"""Multiplication of a number of any size with a short one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import below
from lengthwise.tasks._arithmetic import NumberTask
from lengthwise.tasks._base import task
from lengthwise.tasks._digits import BASE, EQUALS, OPERATOR, carried, count_numbers, draw_numbers
from lengthwise.tasks._splits import split_symbol
from lengthwise.tasks._words import draw_words
from lengthwise.tasks.addition import ADDITION_DEFAULTS


@task("multiplication")
@dataclass(frozen=True)
class Multiplication(NumberTask):
    """A number times one of few digits, such as `653*49=79913`: 31997, its last digit first.

    A length is the number of digits of the first number, which has no leading zero. The second is
    uniform and has leading zeros, as in the code of Position Coupling (arXiv 2405.20671). Coupled
    ids are those of that code: the least significant digits have the same, the highest of a digit,
    from where ids fall; the signs have one more.
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        **ADDITION_DEFAULTS,
        "test_lengths": (1, 2, 5, 8, 10, 11, 12, 15, 20, 30, 40, 60),
    }

    sign = "*"

    second: int = 2
    """How many digits the second number has."""

    padded: bool = True
    """Whether the answer has leading zeros, so that it has as many digits as both numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(1 <= self.second <= 8, "second", self.second, "a number of digits, 1..8")

    def answer_digits(self, length: int) -> int:
        """As many as both numbers have."""
        return length + self.second

    def sizes(self, length: int) -> tuple[int, int]:
        """Both numbers, * and =; the product and END."""
        return length + self.second + 2, self.answer_digits(length) + 1

    def count_inputs(self, length: int) -> int:
        """All numbers of so many digits, times all of few."""
        return self.split_share(count_numbers(length) * BASE**self.second)

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Multiplications, as they are written."""
        words, more = draw_words(key, count, (length, self.second))
        first, second = draw_numbers(words, length), below(more, BASE)
        others = torch.cat([first[..., 1:], second], -1)
        first[..., 0] = split_symbol(words[..., 0], others, BASE, self.split)
        if self.order != "reversed":
            first, second = first.flip(-1), second.flip(-1)
        first = functional.pad(first, (0, 1), value=OPERATOR)
        return torch.cat([first, functional.pad(second, (0, 1), value=EQUALS)], -1)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """Products, as they are written."""
        first, second = prompts[..., :length], prompts[..., length + 1 : -1]
        if self.order != "reversed":
            first, second = first.flip(-1), second.flip(-1)
        size = self.answer_digits(length)
        columns = prompts.new_zeros(*prompts.shape[:-1], size)
        for place, digit in enumerate(second.split(1, -1)):
            columns[..., place : place + length] += digit * first
        return self._answer(carried(columns, size), padded=self.padded)

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Coupled ids: those of digits fall with their significance, and signs have the highest."""
        if self.positions == "plain":
            return None
        highest = length + self.second
        ids = highest - 1 - self._significances(tokens)
        return ids.masked_fill(tokens >= BASE, highest)
