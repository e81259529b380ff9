"""Local or global: one token says whether to look at oneself or at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.randomness import below, bits
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import examples, one_hot


@task("local-global")
@dataclass(frozen=True)
class LocalGlobal(TokenTask):
    """Uniform tokens: after each, point at it if the marker has been seen, else at the smallest.

    (arXiv 2005.09561, whose tokens see all others; here a token sees those before it, and the
    question is about the tokens so far. Its answer is a place, the first where several are equal;
    by default the answer is the token at that place. Both are ours.)
    """

    prefixes = True
    defaults: ClassVar[Mapping[str, Any]] = {
        # The paper trains at one length, 128, 3200 steps of 32.
        "model": "gpt",
        "max_train_length": 32,
        "test_lengths": (1, 2, 4, 8, 16, 24, 32, 36, 40, 48, 64, 96, 128),
        "test_inputs": 512,
        "steps": 4000,
        "batch": 32,
        "learning_rate": 1e-3,
    }

    vocab: int = 100
    """How many tokens there are."""

    marker: int = 64
    """The token from which on every token points at itself."""

    answer: Literal["token", "place"] = "token"
    """Whether the answer is the token that is pointed at, or its place."""

    longest: int = 128
    """The most tokens."""

    def __post_init__(self) -> None:
        require(self.vocab >= 2, "vocab", self.vocab, "at least 2")
        expected = f"a token, 0..{self.vocab - 1}"
        require(0 <= self.marker < self.vocab, "marker", self.marker, expected)
        require_name(self.answer, ("token", "place"), "answer")
        require(self.longest >= 1, "longest", self.longest, "at least 1")

    @property
    def classes(self) -> int:
        """The tokens, or the places."""
        return self.vocab if self.answer == "token" else self.longest

    @property
    def lengths(self) -> range:
        """One token or more."""
        return range(1, self.longest + 1)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Tokens or places by their numbers."""
        return tuple(map(str, range(self.classes)))

    def count_inputs(self, length: int) -> int:
        """All strings."""
        return self.vocab**length

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Tokens, and what each points at."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        tokens = below(bits(examples(key, count), length), self.vocab)
        return Batch(tokens, self._labels(tokens))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on what is pointed at."""
        return one_hot(self._labels(inputs), self.classes)

    def _labels(self, tokens: Tensor) -> Tensor:
        local = (tokens == self.marker).cumsum(-1) > 0
        if self.answer == "token":
            return torch.where(local, tokens, tokens.cummin(-1).values)
        # In one number with its place, so that among equal ones the first counts.
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        smallest = (tokens * self.longest + places).cummin(-1).values % self.longest
        return torch.where(local, places, smallest)
