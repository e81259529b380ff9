"""Tasks whose answers are read all at once, at empty places behind the input.

So the suite of arXiv 2207.02098 asks them. No answer stands among the inputs: a model may see all
of them from every place.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.tasks._base import IGNORE_INDEX, Batch, TokenTask
from lengthwise.tasks._sets import examples

LONGEST = 500
"""The longest input that arXiv 2207.02098 tests."""

CHOMSKY_DEFAULTS: Mapping[str, Any] = {
    "model": "gpt",
    # Lengths, batch and rate are those of arXiv 2207.02098 (a million steps, all lengths to 500,
    # the encoder sees later tokens); the rest is ours, for training on a CPU.
    "min_train_length": 1,
    "max_train_length": 40,
    "batch": 128,
    "learning_rate": 5e-4,
    "seeds": 1,
    "steps": 3000,
    "test_lengths": (10, 20, 30, 40, 41, 50, 60, 80, *range(100, LONGEST + 1, 100)),
    "test_inputs": 128,
    "test_items": 1 << 14,
}
"""How tasks of the suite are trained unless told otherwise."""


@dataclass(frozen=True)
class ParallelTask(TokenTask):
    """A string of symbols, and as many empty places as its answer has at most.

    Tokens are the symbols 0..n-1 and the empty token n. Place i of the empty ones asks for symbol i
    of the answer; behind the end of an answer nothing is asked.
    """

    unit = "symbols"
    defaults: ClassVar[Mapping[str, Any]] = CHOMSKY_DEFAULTS

    longest: int = LONGEST
    """The longest string."""

    def __post_init__(self) -> None:
        require(len(self.lengths) > 1, "longest", self.longest, f"more than {self.lengths.start}")

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The symbols, as a person writes them."""

    @abstractmethod
    def strings(self, example: Tensor, length: int) -> Tensor:
        """Draw a string out of the stream of every example: `(examples, string size)`."""

    @abstractmethod
    def answers(self, strings: Tensor) -> Tensor:
        """The answer to each string, `(examples, answer size)`, with `IGNORE_INDEX` behind it."""

    @abstractmethod
    def answer_size(self, length: int) -> int:
        """How many symbols the answer has at most."""

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings of a length, equally likely, or None: as for `enumerate_inputs`."""
        return None

    def string_size(self, length: int) -> int:
        """How many symbols a string has."""
        return length

    @property
    def vocab(self) -> int:
        """The symbols and the empty token."""
        return len(self.names) + 1

    @property
    def token_names(self) -> tuple[str, ...]:
        """The symbols and the empty token."""
        return (*self.names, "_")

    @property
    def class_names(self) -> tuple[str, ...]:
        """Numbers, as the suite has it, and END."""
        return tuple("END" if one == self.end else str(one) for one in range(self.classes))

    @property
    def lengths(self) -> range:
        """From the shortest string on that there is a question to."""
        return range(1, self.longest + 1)

    def input_size(self, length: int) -> int:
        """The string and its answer."""
        return self.string_size(length) + self.answer_size(length)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Strings with empty places behind them, and the answers there."""
        shortest, longest = self.lengths[0], self.lengths[-1]
        require(length in self.lengths, "length", length, f"one of {shortest}..{longest}")
        strings = self.strings(examples(key, count).reshape(-1), length)
        inputs, labels = self._asked(strings, length)
        return Batch(inputs.view(*key.shape, count, -1), labels.view(*key.shape, count, -1))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the one right symbol at every place that asks."""
        length = _lengths(self)[inputs.shape[-1]]
        strings = inputs[..., : self.string_size(length)].flatten(0, -2)
        labels = self._asked(strings, length)[1].view(inputs.shape)
        asked = (labels != IGNORE_INDEX).unsqueeze(-1)
        return functional.one_hot(labels.clamp(min=0), self.classes) * asked.to(torch.float32)

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All strings, where they are equally likely and not too many."""
        strings = self.every_string(length, limit)
        return None if strings is None else self._asked(strings, length)[0]

    def _asked(self, strings: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Whole inputs and labels."""
        empty = (0, self.answer_size(length))
        inputs = functional.pad(strings, empty, value=len(self.names))
        nothing = torch.full_like(strings, IGNORE_INDEX)
        return inputs, torch.cat([nothing, self.answers(strings)], -1)


@cache
def _lengths(task: ParallelTask) -> dict[int, int]:
    """Of every input size, its length."""
    return {task.input_size(length): length for length in task.lengths}
