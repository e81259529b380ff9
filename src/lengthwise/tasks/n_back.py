"""N-back: the token that stood so many places before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import below, bits
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import examples, one_hot


@task("n-back")
@dataclass(frozen=True)
class NBack(TokenTask):
    """Uniform tokens; after each, the one `back` places before it is asked for.

    Where there is none, the answer is a class of its own, the last. (After arXiv 2506.16640.)
    """

    prefixes = True
    defaults: ClassVar[Mapping[str, Any]] = {
        # The paper trains on 32..64 tokens of 16 symbols, and tests up to 4096; the rest is ours.
        "model": "gpt",
        "max_train_length": 64,
        "test_lengths": (1, 2, 4, 16, 32, 48, 64, 72, 80, 96, 128, 192, 256),
        "test_inputs": 256,
        "steps": 2000,
        "batch": 32,
        "learning_rate": 1e-3,
    }

    back: int = 2
    """How many places back."""

    symbols: int = 16
    """How many tokens there are."""

    longest: int = 256
    """The most tokens. Ours."""

    def __post_init__(self) -> None:
        require(self.symbols >= 2, "symbols", self.symbols, "at least 2")
        require(self.longest >= 1, "longest", self.longest, "at least 1")
        expected = f"a number of places, 1..{self.longest - 1}, below longest"
        require(1 <= self.back < self.longest, "back", self.back, expected)

    @property
    def classes(self) -> int:
        """Tokens, and that there is none."""
        return self.symbols + 1

    @property
    def vocab(self) -> int:
        """The tokens."""
        return self.symbols

    @property
    def lengths(self) -> range:
        """One token or more."""
        return range(1, self.longest + 1)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Tokens by their numbers."""
        return (*self.token_names, "none")

    def count_inputs(self, length: int) -> int:
        """All strings."""
        return self.symbols**length

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Tokens, and those before them."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        tokens = below(bits(examples(key, count), length), self.symbols)
        return Batch(tokens, self._labels(tokens))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the token that stood there."""
        return one_hot(self._labels(inputs), self.classes)

    def _labels(self, tokens: Tensor) -> Tensor:
        padded = functional.pad(tokens, (self.back, 0), value=self.symbols)
        return padded[..., : tokens.shape[-1]]
