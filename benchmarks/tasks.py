"""Drawing a batch over a training step, for every task, at 40 and at 500 tokens; against DeepMind.

A step is that of the tiny GPT (2 layers, 4 heads, width 64) on 32 inputs of the task that are there
already; where inputs are no tokens, on as many tokens of another task. What is set against it is
the drawing of these inputs as a training with a band of lengths draws them, one batch at a time.
Then the six tasks of the Chomsky suite that DeepMind's code (arXiv 2207.02098) draws in Python,
example by example: ours against that way of writing them, without the JAX that makes tensors of
them, at its lengths of training and of tests, 128 inputs each. The other nine it draws in JAX, all
examples at once, so that there is no Python to compare with. One thread.

The bar stands at the longest inputs of its tests. At 40 symbols ours takes 50 to 90 microseconds
for numbers and stacks, most of it in calls of torch that make a batch of them, so that a ratio
there says how long these calls take; it is reported.
"""

import contextlib
import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import numpy
import torch
from _harness import Comparison, arguments, interleaved, report

from lengthwise.errors import InputError
from lengthwise.memory import keep_freed_memory
from lengthwise.models import GPTModel
from lengthwise.models.gpt import SIZES
from lengthwise.registry import TASKS
from lengthwise.runs import Recipe
from lengthwise.tasks import Batch, Task, TokenTask
from lengthwise.training import Hyperparameters, Trainer

BATCH = 32
TOKENS = (40, 500)
SHARE = 0.05
"""The most that drawing may cost, as a part of a step."""
OTHER = "even-pairs"
"""Whose tokens are read in place of a set or a series."""
AGAINST_PYTHON = 20
"""How many times as fast as Python, at the longer length."""
NUMBERS = numpy.random.RandomState(0)
"""As DeepMind's code draws its numbers."""
CHOMSKY_LENGTHS = (40, 500)
CHOMSKY_BATCH = 128
"""As arXiv 2207.02098 trains and tests."""


class Fixed(Trainer):
    """A training whose data are there already."""

    data: Batch | None = None

    def _batch(self, step: int) -> Batch:
        if self.data is None:
            self.data = super()._batch(step)
        return self.data


def sized(name: str, tokens: int) -> tuple[Task, int]:
    """The task, with inputs of about so many tokens, and their length."""
    task: Task = TASKS.get(name)()
    fields = {one.name for one in dataclasses.fields(task)}  # type: ignore[arg-type]
    # A length may count other things than tokens, and a task may not have as many.
    for field, values in (("vocab", (tokens + 1,)), ("longest", (tokens, tokens // 4, 22))):
        if field in fields and task.lengths[-1] < tokens:
            for value in values:
                with contextlib.suppress(InputError):
                    task = dataclasses.replace(task, **{field: value})  # type: ignore[type-var]
                    break
    size: Callable[[int], int] = task.input_size if isinstance(task, TokenTask) else int
    return task, max((n for n in task.lengths[:tokens] if size(n) <= tokens), default=1)


def trainer(task: TokenTask, length: int) -> Trainer:
    """The tiny GPT on inputs that are there already."""
    positions = "rotary" if task.tracks == 1 else "learned"
    model = GPTModel(**SIZES["tiny"]._asdict(), remedies=(positions,))
    recipe = Recipe(
        task=task, model=model, max_train_length=length, batch=BATCH, test_lengths=(length,)
    )
    plain = Hyperparameters(ema_powers=(), bias_powers=())
    steps = 10**6
    return Fixed(recipe.fleet([plain]), task, max_train_length=length, batch=BATCH, steps=steps)


def share(name: str, tokens: int) -> tuple[float, dict[str, float]]:
    """The part of a step that drawing its inputs would be, and the seconds of both."""
    task, length = sized(name, tokens)
    own = trainer(task, length) if isinstance(task, TokenTask) else trainer(*sized(OTHER, tokens))  # type: ignore[arg-type]
    key = torch.tensor([[7]])
    parts: dict[str, Callable[[], Any]] = {
        "step": own.step, "draw": lambda: task.draw(key, length, BATCH),
    }  # fmt: skip
    taken = interleaved(parts, rounds=9 if tokens < 100 else 3)
    return taken["draw"] / taken["step"], {
        f"{name}, {tokens} tokens: {part}": seconds for part, seconds in taken.items()
    }


def python_addition(
    length: int, operator: Callable[[int, int], int]
) -> tuple[list[int], list[int]]:
    """Two binary numbers, the lowest digit first, and what an operator makes of them."""
    size = random.randint(1, length - 2)
    sizes = (size, length - 1 - size)
    numbers = [random.randint(1, 2**own - 1) for own in sizes]
    tokens: list[int] = []
    for own, number in zip(sizes, numbers, strict=True):
        tokens += [*map(int, f"{number:0{own}b}"[::-1]), 2]
    answer = [*map(int, f"{operator(*numbers):b}"[::-1]), 2]
    return tokens[:-1], answer + [0] * (length + 1 - len(answer))


def python_sqrt(length: int) -> tuple[list[int], list[int]]:
    """A binary number, the highest digit first, and its root."""
    number = random.randint(1, 2**length - 1)
    size = -(-length // 2)
    tokens = [*map(int, f"{number:0{length}b}")]
    return tokens, [*map(int, f"{math.isqrt(number):0{size}b}")]


def python_stack(length: int) -> tuple[numpy.ndarray, list[int]]:
    """A stack, actions on it, and what is left of it, the top first."""
    size = NUMBERS.randint(1, length)
    begin = NUMBERS.randint(2, size=size)
    actions = NUMBERS.randint(2, 5, size=length - size)
    stack = list(begin)
    for action in actions:
        if action > 2:
            stack.append(action - 3)
        elif stack:
            stack.pop()
    answer = [*reversed(stack), 2]
    return numpy.concatenate([begin, actions]), answer + [0] * (length + 1 - len(answer))


def python_expression(length: int, signs: str = "+-*") -> tuple[str, int]:
    """An expression with brackets, and its value modulo 5."""
    if length < 5:
        digit = NUMBERS.randint(5)
        written = {1: "{}", 2: "-{}", 3: "({})", 4: "(-{})"}[length].format(digit)
        return written, (digit if length % 2 else -digit) % 5
    left = NUMBERS.randint(1, length - 3)
    one, first = python_expression(left, signs)
    other, second = python_expression(length - 3 - left, signs)
    sign = signs[NUMBERS.randint(len(signs))]
    value = first + second if sign == "+" else first - second if sign == "-" else first * second
    return f"({one}{sign}{other})", value % 5


SIGNS = {sign: number for number, sign in enumerate("01234+-*()x=")}


def python_brackets(length: int) -> tuple[list[int], list[int]]:
    """The same as tokens."""
    text, value = python_expression(length)
    return [SIGNS[sign] for sign in text], [value]


def python_equation(length: int) -> tuple[list[int], list[int]]:
    """An expression in which x stands for a digit, and its value."""
    text, value = python_expression(length - 2, "+-")
    place = NUMBERS.randint(len(text))
    while not text[place].isdigit():
        place = (place + 1) % len(text)
    written = f"{text[:place]}x{text[place + 1 :]}={value}"
    return [SIGNS[sign] for sign in written], [int(text[place])]


IN_PYTHON: dict[str, Callable[[int], tuple[Any, list[int]]]] = {
    "binary-addition": lambda length: python_addition(length, int.__add__),
    "binary-multiplication": lambda length: python_addition(length, int.__mul__),
    "compute-sqrt": python_sqrt,
    "stack-manipulation": python_stack,
    "modular-arithmetic-brackets": python_brackets,
    "solve-equation": python_equation,
}


def against_python(name: str, length: int) -> tuple[float, dict[str, float]]:
    """How many times as fast a task is drawn as by Python, and the seconds of both."""
    task: Task = TASKS.get(name)()
    write, key = IN_PYTHON[name], torch.tensor([[7]])

    def in_python() -> tuple[numpy.ndarray, numpy.ndarray]:
        rows, answers = zip(*(write(length) for _ in range(CHOMSKY_BATCH)), strict=True)
        return numpy.array(rows), numpy.array(answers)

    parts: dict[str, Callable[[], Any]] = {
        "ours": lambda: task.draw(key, length, CHOMSKY_BATCH), "Python": in_python,
    }  # fmt: skip
    taken = interleaved(parts, rounds=9)
    seconds = {f"{name}, length {length}: {who}": taken[who] for who in taken}
    return taken["Python"] / taken["ours"], seconds


def main() -> int:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()
    comparisons: list[Comparison] = []
    seconds: dict[str, float] = {}
    for length in CHOMSKY_LENGTHS:
        for name in IN_PYTHON:
            ratio, taken = against_python(name, length)
            seconds |= taken
            words = f"{name}, length {length}: against Python"
            bar = AGAINST_PYTHON if length == CHOMSKY_LENGTHS[-1] else None
            comparisons.append(Comparison(words, ratio, bar))
    for tokens in TOKENS:
        for name in TASKS.listed():
            part, taken = share(name, tokens)
            seconds |= taken
            words = f"{name}, {tokens} tokens: drawing over a step"
            comparisons.append(Comparison(words, part, SHARE, "at most"))
    return report(comparisons, seconds, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
