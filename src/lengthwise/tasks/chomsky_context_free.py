"""The deterministic context-free tasks of the Chomsky suite (arXiv 2207.02098)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.tasks._base import IGNORE_INDEX, task
from lengthwise.tasks._parallel import CHOMSKY_DEFAULTS, ParallelTask
from lengthwise.tasks._symbols import every_string, uniform
from lengthwise.tasks._words import words_of

EXPRESSION = (*"01234", *"+-*()")


@task("stack-manipulation")
@dataclass(frozen=True)
class StackManipulation(ParallelTask):
    """A stack of 0 and 1, the bottom first, and POP, PUSH 0 and PUSH 1: what is on it at the end.

    The answer is the stack, the top first, and 2 behind it. A POP of an empty stack does nothing.
    How large the stack is at first is uniform, and so are what is on it and what is done. (Of one
    symbol, there is only the stack.)
    """

    names = ("0", "1", "POP", "PUSH0", "PUSH1")
    classes = 3

    @property
    def end(self) -> int:
        """The 2 behind the stack."""
        return 2

    def answer_size(self, length: int) -> int:
        """The largest stack, and the 2."""
        return length + 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """The stack, then what is done."""
        from lengthwise.tasks._drawing import fill_stacks

        found = torch.empty(len(example), length, dtype=torch.int64)
        fill_stacks(example.cpu().numpy(), found.numpy())
        return found.to(example.device)

    def answers(self, strings: Tensor) -> Tensor:
        """The stack at the end."""
        from lengthwise.tasks._arithmetic_steps import run_stacks

        rows, length = strings.shape
        found = torch.empty(rows, length + 1, dtype=torch.int64)
        run_stacks(strings.cpu().contiguous().numpy(), IGNORE_INDEX, found.numpy())
        return found.to(strings.device)


@task("reverse-string")
@dataclass(frozen=True)
class ReverseString(ParallelTask):
    """Independent bits, to be written from the last to the first."""

    names = ("0", "1")
    classes = 2

    def answer_size(self, length: int) -> int:
        """As many."""
        return length

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Independent bits."""
        return uniform(example, length, 2)

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings."""
        return every_string(2, length, limit)

    def answers(self, strings: Tensor) -> Tensor:
        """From the last to the first."""
        return strings.flip(-1)


@task("modular-arithmetic-brackets")
@dataclass(frozen=True)
class ModularArithmeticBrackets(ParallelTask):
    """An expression of digits 0..4, +, -, * and brackets: its value modulo 5.

    Expressions of 1 to 4 symbols are d, -d, (d) and (-d). A longer one is (left operator right),
    where all lengths of the left side are equally likely, and so on.
    """

    names = EXPRESSION
    classes = 5

    def answer_size(self, length: int) -> int:
        """One."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Expressions."""
        return _expressions(example, length, operators=3)

    def answers(self, strings: Tensor) -> Tensor:
        """The value."""
        return _values(strings).unsqueeze(-1)


@task("solve-equation")
@dataclass(frozen=True)
class SolveEquation(ParallelTask):
    """An expression with +, - and brackets in which x stands for a digit, =, and its value: x.

    Without * there is one solution. The digit that becomes x is the first one from a random place
    on. (The suite gives inputs shorter than three symbols, to which there is no question.)
    """

    names = (*EXPRESSION, "x", "=")
    classes = 5
    defaults: ClassVar[Mapping[str, Any]] = {**CHOMSKY_DEFAULTS, "min_train_length": 3}

    @property
    def lengths(self) -> range:
        """From x=d on."""
        return range(3, self.longest + 1)

    def answer_size(self, length: int) -> int:
        """One."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """An expression with x, = and the value."""
        from lengthwise.tasks._arithmetic_steps import EQUALS, hide_digits

        left = _expressions(example, length - 2, operators=2).cpu()
        value = _values(left).unsqueeze(-1)
        place = words_of(example, 1, 1).squeeze(-1)
        hide_digits(place.cpu().numpy(), left.numpy())
        return torch.cat([left, torch.full_like(value, EQUALS), value], -1).to(example.device)

    def answers(self, strings: Tensor) -> Tensor:
        """What is missing on the left side, with the sign that x has there."""
        nothing, one = _values(strings, 0), _values(strings, 1)
        return ((strings[:, -1] - nothing) * (one - nothing) % 5).unsqueeze(-1)


def _expressions(example: Tensor, length: int, operators: int) -> Tensor:
    from lengthwise.tasks._arithmetic_steps import draw_expressions

    tokens = torch.empty(len(example), length, dtype=torch.int64)
    words = words_of(example, 0, length)
    draw_expressions(words.cpu().numpy(), operators, tokens.numpy())
    return tokens.to(example.device)


def _values(strings: Tensor, unknown: int = 0) -> Tensor:
    from lengthwise.tasks._arithmetic_steps import evaluate

    values = torch.empty(len(strings), dtype=torch.int64)
    evaluate(strings.cpu().contiguous().numpy(), unknown, values.numpy())
    return values.to(strings.device)
