"""What tasks share that ask for a number."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._digits import BASE, END, EQUALS, SPACE, significances, without_leading_zeros
from lengthwise.tasks._slots import compact
from lengthwise.tasks._splits import SPLITS, Split


@dataclass(frozen=True)
class NumberTask(AnswerTask):
    """A prompt with numbers, and one number as its answer. A length counts digits.

    One prompt in ten is held out: the first number then ends with the digit that a hash of all
    other digits says (ours).
    """

    unit = "digits"
    end = END
    sign: ClassVar[str] = "+"
    """How a person writes the operation."""

    order: Literal["plain", "reversed-answer", "reversed"] = "reversed-answer"
    """Whether numbers begin with their most significant digit (plain), but for the answer, or
    all with their least significant one (reversed)."""

    positions: Literal["plain", "coupled"] = "plain"
    """Position ids that count tokens, or that digits of the same significance share (coupled)."""

    longest: int = 60
    """The greatest length. Ours."""

    split: Split = "train"
    """Which prompts are drawn; tests are always on held-out ones."""

    def __post_init__(self) -> None:
        require(self.longest >= 1, "longest", self.longest, "at least 1")
        require_name(self.order, ("plain", "reversed-answer", "reversed"), "order")
        require_name(self.positions, ("plain", "coupled"), "positions")
        require_name(self.split, SPLITS, "split")

    @property
    def classes(self) -> int:
        """Digits and END."""
        return BASE + 1

    @property
    def vocab(self) -> int:
        """Digits, END, the sign of the operation and =."""
        return SPACE

    @property
    def token_names(self) -> tuple[str, ...]:
        """As people write them."""
        return (*map(str, range(BASE)), "END", self.sign, "=")

    @property
    def digits(self) -> range:
        """Tokens 0..9."""
        return range(BASE)

    @property
    def lengths(self) -> range:
        """Numbers of one digit or more."""
        return range(1, self.longest + 1)

    @property
    def max_position(self) -> int:
        """As many as there are tokens, or with coupled ids one more than there are digits."""
        coupled = self.positions == "coupled"
        return 1 + self.answer_digits(self.longest) if coupled else self.input_size(self.longest)

    def held_out(self) -> Self:
        """Prompts that cannot occur in training."""
        return replace(self, split="held-out")

    def split_share(self, count: int) -> int:
        """How many of `count` prompts this split has, where one in ten is held out."""
        return count // BASE if self.split == "held-out" else count - count // BASE

    @abstractmethod
    def answer_digits(self, length: int) -> int:
        """How many digits the largest answer has."""

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Coupled ids: 0 for what is no digit, and 1 + significance for digits."""
        if self.positions == "plain":
            return None
        return (1 + self._significances(tokens)).masked_fill(tokens >= BASE, 0)

    def _significances(self, tokens: Tensor) -> Tensor:
        """The significance of every digit of whole inputs."""
        straight, backward = (significances(tokens, reversed=way) for way in (False, True))
        if self.order == "reversed-answer":
            return torch.where((tokens == EQUALS).cumsum(-1) > 0, backward, straight)
        return straight if self.order == "plain" else backward

    def _answer(self, digits: Tensor, *, padded: bool) -> Tensor:
        """Answers as they are written, with END, out of digits with the least significant first."""
        slots = digits if padded else without_leading_zeros(digits)
        slots = slots.flip(-1) if self.order == "plain" else slots
        slots = functional.pad(slots, (0, 1), value=END)
        return slots if padded else compact(slots, END)
