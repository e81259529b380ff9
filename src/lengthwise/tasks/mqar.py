"""Multi-query associative recall: the values of keys that were paired with them before."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import below
from lengthwise.tasks._base import IGNORE_INDEX, Batch, TokenTask, task
from lengthwise.tasks._sets import one_hot
from lengthwise.tasks._words import distinct, draw_words


@task("mqar")
@dataclass(frozen=True)
class MultiQueryRecall(TokenTask):
    """Pairs of a key and a value, then every key once more: its value is asked for there.

    A length is the number of pairs. Keys of an input are distinct; behind the pairs there are
    `slots` places of two tokens for each of them, at random ones of which a key stands, followed by
    a blank, and blanks elsewhere. (MQAR of arXiv 2312.04927. There a key is likelier to be asked
    soon, values are distinct, and by default random tokens stand in place of blanks, some of which
    are keys of which nothing is asked.)
    """

    unit = "pairs"
    defaults: ClassVar[Mapping[str, Any]] = {
        # Pairs in training are those of the paper's code; the rest is ours.
        "model": "gpt",
        "min_train_length": 4,
        "max_train_length": 16,
        "test_lengths": (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64),
        "test_inputs": 512,
        "steps": 6000,
        "batch": 64,
        "learning_rate": 1e-3,
        "weight_decay": 0.1,
    }

    keys: int = 64
    """How many keys there are."""

    values: int = 64
    """How many values there are."""

    slots: int = 2
    """How many places for a key there are behind the pairs, for each pair."""

    def __post_init__(self) -> None:
        require(self.keys >= 2, "keys", self.keys, "at least 2")
        require(self.values >= 2, "values", self.values, "at least 2")
        require(self.slots >= 1, "slots", self.slots, "at least 1")

    @property
    def classes(self) -> int:
        """The values."""
        return self.values

    @property
    def vocab(self) -> int:
        """Values, keys and the blank."""
        return self.values + self.keys + 1

    @property
    def lengths(self) -> range:
        """No more pairs than there are keys."""
        return range(1, self.keys + 1)

    @property
    def token_names(self) -> tuple[str, ...]:
        """Values v0, v1, ..., keys k0, k1, ... and the blank."""
        values, keys = (range(number) for number in (self.values, self.keys))
        return (*(f"v{number}" for number in values), *(f"k{number}" for number in keys), "_")

    def count_inputs(self, length: int) -> int:
        """Distinct keys in order, any values, and distinct places to ask."""
        places = math.perm(self.slots * length, length)
        return math.perm(self.keys, length) * self.values**length * places

    def input_size(self, length: int) -> int:
        """The pairs, and places for keys."""
        return 2 * length + 2 * self.slots * length

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Pairs, then keys among blanks; labels are values."""
        expected = f"one of 1..{self.keys}, as there are no more keys"
        require(length in self.lengths, "length", length, expected)
        words = draw_words(key, count, (length, length, length))
        keys = self.values + distinct(words[0], self.keys)
        values = below(words[1], self.values)
        places = 2 * length + 2 * distinct(words[2], self.slots * length)
        shape = (*key.shape, count, self.input_size(length))
        tokens = torch.full(shape, self.vocab - 1, device=key.device)
        tokens[..., : 2 * length] = torch.stack([keys, values], -1).flatten(-2)
        labels = torch.full(shape, IGNORE_INDEX, device=key.device)
        return Batch(tokens.scatter(-1, places, keys), labels.scatter(-1, places, values))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the value of the key, where it stands for the second time."""
        pairs = inputs[..., : inputs.shape[-1] // (1 + self.slots)]
        known = torch.full((*inputs.shape[:-1], self.vocab), IGNORE_INDEX, device=inputs.device)
        known.scatter_(-1, pairs[..., ::2], pairs[..., 1::2])
        labels = known.gather(-1, inputs)
        labels[..., : pairs.shape[-1]] = IGNORE_INDEX
        asked = (labels != IGNORE_INDEX).unsqueeze(-1)
        return one_hot(labels.clamp(min=0), self.values) * asked
