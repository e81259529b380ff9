"""Sparse parity: of many bits a few are marked, and their parity is asked for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import below
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import one_hot
from lengthwise.tasks._words import distinct, draw_words

MARK = 2
"""The token before a bit that counts."""


@task("sparse-parity")
@dataclass(frozen=True)
class SparseParity(TokenTask):
    """Uniform bits, `marked` of which have a mark before them: the parity of these, at the end.

    A length is the number of bits. The answer depends on as many tokens at every length: the
    sparse dependence of Predictive Position Coupling (arXiv 2502.16792), in a task of ours.
    """

    unit = "bits"
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "gpt",
        "min_train_length": 2,
        "max_train_length": 20,
        "test_lengths": (2, 4, 8, 12, 16, 20, 22, 24, 32, 40, 60, 80, 100),
        "test_inputs": 1024,
        "steps": 8000,
        "batch": 64,
        "learning_rate": 1e-3,
    }

    marked: int = 2
    """How many bits are marked."""

    longest: int = 100
    """The most bits."""

    def __post_init__(self) -> None:
        require(self.marked >= 1, "marked", self.marked, "at least 1")
        expected = f"at least marked = {self.marked}"
        require(self.longest >= self.marked, "longest", self.longest, expected)

    @property
    def classes(self) -> int:
        """Even or odd."""
        return 2

    @property
    def vocab(self) -> int:
        """Bits and the mark."""
        return 3

    @property
    def lengths(self) -> range:
        """As many bits as are marked, or more."""
        return range(self.marked, self.longest + 1)

    @property
    def token_names(self) -> tuple[str, ...]:
        """A mark is a star."""
        return ("0", "1", "*")

    def count_inputs(self, length: int) -> int:
        """All strings, with marks before any so many of their bits."""
        return 2**length * math.comb(length, self.marked)

    def answer_rates(self, length: int) -> Tensor:
        """Even and odd are equally likely."""
        return torch.full((2,), 0.5)

    def input_size(self, length: int) -> int:
        """Bits and marks."""
        return length + self.marked

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Bits with marks before some; labels are parities."""
        expected = f"one of {self.marked}..{self.longest}, as {self.marked} bits are marked"
        require(length in self.lengths, "length", length, expected)
        words, chosen = draw_words(key, count, (length, self.marked))
        bits, places = below(words, 2), distinct(chosen, length)
        marks = torch.zeros_like(bits).scatter(-1, places, 1)
        inputs = torch.full((*bits.shape[:-1], self.input_size(length)), MARK, device=key.device)
        # A bit moves behind all marks up to its own; what it leaves free are the marks.
        moved = torch.arange(length, device=key.device) + marks.cumsum(-1)
        return Batch(inputs.scatter(-1, moved, bits), (bits * marks).sum(-1) & 1)

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the parity of what stands behind marks."""
        marked = functional.pad(inputs[..., :-1] == MARK, (1, 0))
        return one_hot((inputs * marked).sum(-1) & 1, 2)
