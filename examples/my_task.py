"""A task of one's own: the parity of a string of bits, asked once, at its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import below, bits
from lengthwise.tasks import Batch, TokenTask, task


@task("my-parity")
@dataclass(frozen=True)
class MyParity(TokenTask):
    """Bits, each 1 with probability 1/2; the answer is whether the number of ones is odd."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "gpt",
        "min_train_length": 1,
        "max_train_length": 8,
        "steps": 2000,
        "batch": 64,
        "test_lengths": (1, 2, 4, 8, 12, 16, 24, 32, 40),
        "test_inputs": 512,
    }

    longest: int = 40
    """The longest string."""

    def __post_init__(self) -> None:
        require(self.longest >= 1, "longest", self.longest, "at least 1")

    @property
    def classes(self) -> int:
        """Even or odd."""
        return 2

    @property
    def lengths(self) -> range:
        """One bit or more."""
        return range(1, self.longest + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Bits `(..., count, length)` and one label each, `(..., count)`."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        # An example has as many random words as the longest string, whatever its length.
        words = bits(key, count * self.longest).unflatten(-1, (count, self.longest))
        tokens = below(words[..., :length], 2)
        return Batch(tokens, tokens.sum(-1) % 2)

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the right answer: `(..., count, 2)`."""
        return torch.nn.functional.one_hot(inputs.sum(-1) % 2, 2).to(torch.float32)
