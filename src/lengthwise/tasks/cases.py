"""Cases: one token says whether to look for the smallest, the first or the largest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.randomness import below
from lengthwise.tasks._base import Batch, TokenTask, task
from lengthwise.tasks._sets import one_hot
from lengthwise.tasks._words import draw_words


@task("cases")
@dataclass(frozen=True)
class Cases(TokenTask):
    """Numbers as tokens: point at the first smallest one, at the first one, or the first largest.

    Which one is said by the numbers themselves: at the smallest if `lowest_marker` is among them,
    else at the first if `first_marker` is, else at the largest (argmin-first-argmax of arXiv
    2005.09561). It is asked once, at the end. The paper's answer is the place, which no model can
    give at lengths that it never saw; by default the answer is the token at that place (ours).
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        # The paper trains at one length, 128, 3200 steps of 32, and tests at half of it.
        "model": "gpt",
        "min_train_length": 2,
        "max_train_length": 32,
        "test_lengths": (1, 2, 4, 8, 16, 24, 32, 36, 40, 48, 64, 96, 128),
        "test_inputs": 1024,
        "steps": 4000,
        "batch": 32,
        "learning_rate": 1e-3,
    }

    vocab: int = 100
    """How many tokens there are."""

    lowest_marker: int = 64
    """The token by which the smallest is meant."""

    first_marker: int = 50
    """The token by which the first is meant, where the other marker is not there."""

    balanced: bool = True
    """Whether the three cases are equally likely at every length, as in the tests of the paper, or
    all tokens, as in its training: markers are then rare in short inputs."""

    answer: Literal["token", "place"] = "token"
    """Whether the answer is the token that is pointed at, or its place."""

    longest: int = 128
    """The most tokens."""

    def __post_init__(self) -> None:
        require(self.vocab >= 3, "vocab", self.vocab, "at least 3: two markers and another")
        tokens = f"a token, 0..{self.vocab - 1}"
        for name in ("lowest_marker", "first_marker"):
            require(0 <= getattr(self, name) < self.vocab, name, getattr(self, name), tokens)
        same = self.first_marker == self.lowest_marker
        require(not same, "first_marker", self.first_marker, "another one than lowest_marker")
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

    def count_inputs(self, length: int) -> int | None:
        """All strings, where they are equally likely."""
        return None if self.balanced else self.vocab**length

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Tokens, and what is pointed at."""
        require(length in self.lengths, "length", length, f"one of 1..{self.longest}")
        words, tokens = draw_words(key, count, (2, length))
        inputs = self._balanced(words, tokens) if self.balanced else below(tokens, self.vocab)
        return Batch(inputs, self._labels(inputs))

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on what is pointed at."""
        return one_hot(self._labels(inputs), self.classes)

    def _balanced(self, words: Tensor, tokens: Tensor) -> Tensor:
        """Tokens that are uniform given their case, which is drawn first."""
        case = below(words[..., :1], 3)
        drawn = below(tokens, self.vocab - case)
        # The smallest: any token. The first: without its marker. The largest: without both.
        low, high = sorted((self.lowest_marker, self.first_marker))
        drawn += (case == 2) & (drawn >= low)
        drawn += torch.where(case == 2, drawn >= high, (case == 1) & (drawn >= self.lowest_marker))
        place = below(words[..., 1:], tokens.shape[-1])
        marker = torch.where(case == 0, self.lowest_marker, self.first_marker)
        return drawn.scatter(-1, place, marker.where(case < 2, drawn.gather(-1, place)))

    def _labels(self, inputs: Tensor) -> Tensor:
        lowest = (inputs == self.lowest_marker).any(-1)
        first = (inputs == self.first_marker).any(-1)
        if self.answer == "token":
            largest = torch.where(first, inputs[..., 0], inputs.amax(-1))
            return torch.where(lowest, inputs.amin(-1), largest)
        # In one number with its place, so that among equal ones the first counts.
        size = inputs.shape[-1]
        places = torch.arange(size, device=inputs.device)
        smallest = (inputs * size + places).amin(-1) % size
        largest = size - 1 - (inputs * size + size - 1 - places).amax(-1) % size
        return torch.where(lowest, smallest, largest.masked_fill(first, 0))
