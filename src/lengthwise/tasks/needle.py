"""Needle: the value behind the one name that is asked for, among many others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import below
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import one_hot
from lengthwise.tasks._words import draw_words


@task("needle")
@dataclass(frozen=True)
class Needle(TokenTask):
    """Names with a value each, and at the end a name that occurs once before: name its value.

    A length is the number of names with a value. The needle stands at any place with the same
    chance; the others are distractors, whose names are uniform among all but its own and
    repeat, so that a few names serve any length. (A needle in a haystack without words; ours.)
    """

    unit = "names"
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "gpt",
        "min_train_length": 1,
        "max_train_length": 20,
        "test_lengths": (1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 100, 200),
        "test_inputs": 512,
        "steps": 6000,
        "batch": 64,
        "learning_rate": 1e-3,
    }

    names: int = 16
    """How many names there are."""

    values: int = 16
    """How many values there are."""

    longest: int = 200
    """The most names with a value."""

    def __post_init__(self) -> None:
        expected = "at least 2: the needle's and another"
        require(self.names >= 2, "names", self.names, expected)
        require(self.values >= 2, "values", self.values, "at least 2")
        require(self.longest >= 1, "longest", self.longest, "at least 1")

    @property
    def classes(self) -> int:
        """The values."""
        return self.values

    @property
    def vocab(self) -> int:
        """Values and names."""
        return self.values + self.names

    @property
    def lengths(self) -> range:
        """The needle, and any number of distractors."""
        return range(1, self.longest + 1)

    @property
    def token_names(self) -> tuple[str, ...]:
        """Values v0, v1, ... and names n0, n1, ..."""
        values, names = (range(number) for number in (self.values, self.names))
        return (*(f"v{number}" for number in values), *(f"n{number}" for number in names))

    def count_inputs(self, length: int) -> int:
        """A needle at a place, distractors, and any values."""
        distractors = (self.names - 1) ** (length - 1)
        return self.names * length * distractors * self.values**length

    def answer_rates(self, length: int) -> Tensor:
        """All values are equally likely."""
        return torch.full((self.values,), 1 / self.values)

    def input_size(self, length: int) -> int:
        """Names with their values, and the name that is asked for."""
        return 2 * length + 1

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Names with their values, and a name; labels are its values."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        words, names, values = draw_words(key, count, (2, length, length))
        needle, place = below(words[..., :1], self.names), below(words[..., 1:], length)
        # Others are counted from the needle's on, so that they are never its own.
        others = (needle + 1 + below(names, self.names - 1)) % self.names
        names = others.scatter(-1, place, needle)
        values = below(values, self.values)
        pairs = torch.stack([self.values + names, values], -1).flatten(-2)
        inputs = torch.cat([pairs, self.values + needle], -1)
        return Batch(inputs, values.gather(-1, place).squeeze(-1))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the value behind the name."""
        names, values = inputs[..., :-1:2], inputs[..., 1::2]
        place = (names == inputs[..., -1:]).to(torch.int8).argmax(-1, keepdim=True)
        return one_hot(values.gather(-1, place).squeeze(-1), self.values)
