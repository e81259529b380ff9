"""Set complement: name a token that has not been seen yet (arXiv 2510.08341)."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import bits
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._words import distinct


@task("set-complement")
@dataclass(frozen=True)
class SetComplement(TokenTask):
    """Distinct tokens of a vocabulary; every token not among them is equally right as the next one.

    Tokens are 0..vocab-1 and an input has 1..vocab-1 of them. Inputs are drawn as the beginning of
    a uniformly random permutation, and the answer drawn for a prefix is the permutation's next
    token. (The paper gives the inputs and the target; that training sees a permutation is ours.)
    """

    prefixes = True
    defaults: ClassVar[Mapping[str, Any]] = {"model": "minimal", "max_train_length": 8}

    vocab: int = 16
    """Number of tokens."""

    def __post_init__(self) -> None:
        require(self.vocab >= 2, "vocab", self.vocab, "at least 2")

    @property
    def classes(self) -> int:
        """One class per token."""
        return self.vocab

    @property
    def lengths(self) -> range:
        """1..vocab-1: at least one token seen, at least one left."""
        return range(1, self.vocab)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """The first `length + 1` tokens of random permutations, as inputs and next tokens."""
        self._require_length(length)
        # A row has `vocab` random words whatever the length: a shorter draw begins a longer one.
        words = bits(key, count * self.vocab).unflatten(-1, (count, self.vocab))
        tokens = distinct(words[..., : length + 1], self.vocab)
        return Batch(inputs=tokens[..., :-1], labels=tokens[..., 1:])

    def targets(self, inputs: Tensor) -> Tensor:
        """Zero on the tokens seen so far, equal on all others."""
        tokens = torch.arange(self.vocab, device=inputs.device)
        unseen = (inputs.unsqueeze(-1) == tokens).cumsum(-2) == 0
        return unseen / unseen.sum(-1, keepdim=True)

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All ordered choices of `length` distinct tokens, or None where they are too many."""
        self._require_length(length)
        if math.perm(self.vocab, length) > limit:
            return None
        return torch.tensor(list(itertools.permutations(range(self.vocab), length)))

    def count_inputs(self, length: int) -> int:
        """All ordered choices of distinct tokens."""
        return math.perm(self.vocab, length)

    def _require_length(self, length: int) -> None:
        expected = f"one of 1..{self.vocab - 1} for a vocabulary of {self.vocab}"
        require(length in self.lengths, "length", length, expected)
