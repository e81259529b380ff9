"""Addition of binary numbers, the highest digit first, as arXiv 2410.02140 writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import task
from lengthwise.tasks._bits import to_bits, to_numbers
from lengthwise.tasks._sets import examples
from lengthwise.tasks._symbols import LONGEST, SYMBOL_DEFAULTS

PLUS, END, EQUALS, BOS = 2, 3, 4, 5


@task("crasp-addition")
@dataclass(frozen=True)
class CraspAddition(AnswerTask):
    """BOS a + b = c END in binary, the highest digit first, none of them with a leading zero.

    A length counts a, b, + and =. How long a is, is uniform; a number of one digit is 0 or 1.
    """

    unit = "digits and signs"
    end = END
    classes = 4
    defaults: ClassVar[Mapping[str, Any]] = {**SYMBOL_DEFAULTS, "min_train_length": 4}

    longest: int = LONGEST
    """The longest sum, with its signs."""

    def __post_init__(self) -> None:
        require(self.longest >= 5, "longest", self.longest, "at least 5")

    @property
    def vocab(self) -> int:
        """The digits, +, END, = and BOS."""
        return 6

    @property
    def token_names(self) -> tuple[str, ...]:
        """As people write it."""
        return ("0", "1", "+", "END", "=", "BOS")

    @property
    def lengths(self) -> range:
        """From two numbers of one digit on."""
        return range(4, self.longest + 1)

    def sizes(self, length: int) -> tuple[int, int]:
        """The sum of numbers of 1 and length - 3 digits may have one digit more."""
        return length + 1, length - 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Two numbers, and the signs."""
        example = examples(key, count)
        plus = below(bits(at(example, 0), 1), length - 3) + 1
        digits = below(bits(at(example, 1), length - 1), 2)
        place = torch.arange(length - 1, device=key.device)
        # The first digit of a number of several is 1.
        digits = torch.where((place == 0) & (plus > 1), 1, digits)
        digits = torch.where((place == plus + 1) & (plus < length - 3), 1, digits)
        digits = torch.where(place == plus, PLUS, digits)
        sign = torch.full_like(plus, EQUALS)
        return torch.cat([torch.full_like(plus, BOS), digits, sign], -1)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The digits of the sum, filled up with END."""
        width = self.sizes(length)[1]
        digits = prompts[..., 1:-1].reshape(-1, length - 1)
        plus = (digits == PLUS).long().argmax(-1, keepdim=True)
        place = torch.arange(width, device=prompts.device)
        first = _at(digits, plus - 1 - place, plus > place)
        second = _at(digits, length - 2 - place, length - 2 - plus > place)
        numbers = zip(to_numbers(first), to_numbers(second), strict=True)
        sums = [one + other for one, other in numbers]
        size = torch.tensor([[max(1, one.bit_length())] for one in sums], device=prompts.device)
        lowest = to_bits(sums, width, prompts.device)
        found = _at(lowest, size - 1 - place, size > place)
        return torch.where(place < size, found, END).view(*prompts.shape[:-1], width)


def _at(digits: Tensor, place: Tensor, there: Tensor) -> Tensor:
    """The digits at these places, and 0 where there is none."""
    return digits.gather(-1, place.clamp(min=0).expand(len(digits), -1)) * there
