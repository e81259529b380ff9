"""Addition of numbers of any size, in the formats that papers write it in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.randomness import below, unit
from lengthwise.tasks._arithmetic import NumberTask
from lengthwise.tasks._base import task
from lengthwise.tasks._digits import (
    BASE,
    END,
    EQUALS,
    FIRST_HINT,
    OPERATOR,
    SPACE,
    carried,
    count_numbers,
    draw_numbers,
    draw_sizes,
    significances,
    without_leading_zeros,
)
from lengthwise.tasks._slots import EMPTY, compact
from lengthwise.tasks._splits import split_symbol
from lengthwise.tasks._words import draw_words

ADDITION_DEFAULTS: Mapping[str, Any] = {
    # Lengths, batch, steps and rate are ours, for a processor; Position Coupling trains 50,000
    # steps of 1000 additions of 1..30 digits at a rate of 1e-4, and tests up to 200 digits.
    "model": "gpt",
    "min_train_length": 1,
    "max_train_length": 10,
    "test_lengths": (1, 2, 5, 8, 10, 11, 12, 15, 20, 30, 40, 60),
    "test_inputs": 512,
    "steps": 6000,
    "batch": 128,
    "learning_rate": 1e-3,
    "beta2": 0.95,
    "final_lr_fraction": 0.1,
}
"""How models of written numbers are trained unless told otherwise."""


@task("addition")
@dataclass(frozen=True)
class Addition(NumberTask):
    """The sum of two or more numbers, such as `653+049=2070`: 702, its last digit first.

    A length is the number of digits of the longest operand. The default format is that of Position
    Coupling (arXiv 2405.20671, as its code has it). Index hints with everything reversed are that
    of arXiv 2402.09371; random spaces are those of arXiv 2311.14737, but in the prompt alone, as an
    answer must be a function of its prompt (ours). Coupled ids are 0 for `+` and `=` and
    1 + significance for a digit; that they begin at random in training is the remedy `offset`.
    """

    defaults: ClassVar[Mapping[str, Any]] = ADDITION_DEFAULTS

    operands: int = 2
    """How many numbers are added."""

    operand_lengths: Literal["independent", "equal"] = "independent"
    """Whether operands have their own number of digits each, uniform up to that of the longest, or
    all the same."""

    padding: Literal["none", "longest", "answer", "fixed"] = "longest"
    """Whether operands have leading zeros: none, so many that all are as long as the longest, or as
    the longest answer, or as those of the greatest length, so that inputs of all lengths have one
    size (fixed, as in arXiv 2310.11984). With any, the answer has them as well."""

    hints: int = 0
    """How many symbols there are for index hints, which stand before every digit, the same for the
    same significance, from a random one on. 0: no hints. The paper has 102."""

    spaces: float = 0.0
    """How likely there is a space before a token of the prompt other than the first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.operands >= 2, "operands", self.operands, "at least 2")
        require_name(self.operand_lengths, ("independent", "equal"), "operand_lengths")
        require_name(self.padding, ("none", "longest", "answer", "fixed"), "padding")
        require(0 <= self.spaces < 1, "spaces", self.spaces, "a probability in [0, 1)")
        needed = self.answer_digits(self.longest)
        expected = f"0, or at least {needed}, the digits of the longest answer"
        require(self.hints == 0 or self.hints >= needed, "hints", self.hints, expected)
        expected = "plain: hints say already what coupled ids say, and spaces have no significance"
        plain = self.hints == 0 and self.spaces == 0
        require(plain or self.positions == "plain", "positions", self.positions, expected)

    @property
    def classes(self) -> int:
        """Digits and END, or with hints all tokens."""
        return self.vocab if self.hints else super().classes

    @property
    def vocab(self) -> int:
        """Digits, END, +, =, the space and hints."""
        return FIRST_HINT + self.hints

    @property
    def token_names(self) -> tuple[str, ...]:
        """As people write them, and hints as h0, h1, ..."""
        return (*super().token_names, "_", *(f"h{number}" for number in range(self.hints)))

    @property
    def separator(self) -> int | None:
        """`=`, where prompts differ in their size."""
        fixed = self.padding != "none" or self.operand_lengths == "equal"
        return None if fixed and self.spaces == 0 else EQUALS

    def answer_digits(self, length: int) -> int:
        """How many digits the largest sum of operands of `length` digits has."""
        if length < len(str(self.operands)):
            return len(str(self.operands * (BASE**length - 1)))
        return length + len(str(self.operands - 1))  # the same, without writing it

    def count_inputs(self, length: int) -> int | None:
        """Known where all operands have as many digits and there are no spaces."""
        if self.spaces or (length > 1 and self.operand_lengths == "independent"):
            return None
        starts = self.hints - self._answer_size(length) + 1 if self.hints else 1
        return starts * self.split_share(count_numbers(length) ** self.operands)

    def sizes(self, length: int) -> tuple[int, int]:
        """Operands with their digits, hints, + and =, and spaces before them; the sum and END."""
        per_digit = 2 if self.hints else 1
        prompt = self.operands * (per_digit * self._written_digits(length) + 1)
        prompt = 2 * prompt - 1 if self.spaces else prompt
        return prompt, per_digit * self._answer_size(length) + 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Additions, as they are written."""
        gaps = self.sizes(length)[0] // 2 if self.spaces else 0
        parts = (self.operands + 1, self.operands * length, 1, gaps)
        sizes, words, hint, spaces = draw_words(key, count, parts)
        slots = self._operands(sizes, words.unflatten(-1, (self.operands, length)))
        if self.padding != "none":
            zeros = self._written_digits(length) - length
            slots = functional.pad(slots, (0, zeros)).clamp(min=0)
        if self.hints:
            first = below(hint, self.hints - self._answer_size(length) + 1).unsqueeze(-1)
            slots = self._with_hints(slots, first)
        slots = self._in_order(slots, reversed=self.order == "reversed")
        signs = torch.full_like(slots[..., :1], OPERATOR)
        signs[..., -1, :] = EQUALS
        slots = torch.cat([slots, signs], -1).flatten(-2)
        if self.spaces:
            # One before each slot; what stands before the first token goes.
            chosen = functional.pad(unit(spaces) < self.spaces, (1, 0))
            chosen &= (slots != EMPTY) & ((slots != EMPTY).cumsum(-1) > 1)
            slots = torch.stack([torch.where(chosen, SPACE, EMPTY), slots], -1).flatten(-2)[..., 1:]
        return slots if self.separator is None else compact(slots, END)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """Sums, as they are written."""
        size = self._answer_size(length)
        significance = significances(prompts, reversed=self.order == "reversed")
        columns = prompts.new_zeros(*prompts.shape[:-1], size + 1)
        columns.scatter_add_(-1, significance.where(prompts < BASE, size), prompts)
        digits = carried(columns[..., :size], size)
        padded = self.padding != "none"
        slots = digits if padded else without_leading_zeros(digits)
        if self.hints:
            first = prompts.masked_fill(prompts < FIRST_HINT, self.vocab).amin(-1, keepdim=True)
            slots = self._with_hints(slots, first - FIRST_HINT)
        slots = self._in_order(slots, reversed=self.order != "plain")
        slots = functional.pad(slots, (0, 1), value=END)
        return slots if padded else compact(slots, END)

    def _operands(self, sizes: Tensor, words: Tensor) -> Tensor:
        """Digits out of random bits, least significant first: `(..., operands, length)`."""
        if self.operand_lengths == "equal":
            digits = draw_numbers(words, words.shape[-1])
        else:
            digits = draw_numbers(words, draw_sizes(sizes, words.shape[-1]).unsqueeze(-1))
        others = digits.flatten(-2)[..., 1:]
        digits[..., 0, 0] = split_symbol(words[..., 0, 0], others, BASE, self.split)
        return digits

    def _in_order(self, slots: Tensor, *, reversed: bool) -> Tensor:
        """Digits, with their hints, as they are written: `(..., slots)`."""
        if not self.hints:
            return slots if reversed else slots.flip(-1)
        return (slots if reversed else slots.flip(-2)).flatten(-2)

    def _with_hints(self, digits: Tensor, first: Tensor) -> Tensor:
        """Hints and digits, `(..., size, 2)`; digits are EMPTY or begin with the least."""
        hints = FIRST_HINT + first + torch.arange(digits.shape[-1], device=digits.device)
        return torch.stack([hints.masked_fill(digits == EMPTY, EMPTY), digits], -1)

    def _written_digits(self, length: int) -> int:
        """How many digits the longest operand is written with."""
        if self.padding == "fixed":
            return self.longest
        return self.answer_digits(length) if self.padding == "answer" else length

    def _answer_size(self, length: int) -> int:
        """How many digits the longest answer is written with."""
        return self.answer_digits(self.longest if self.padding == "fixed" else length)
