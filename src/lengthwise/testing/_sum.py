"""A task as a user would write one, which the suites read by its path: sums of digits."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks import Batch, Tokens, TokenTask, task


@task("sum")
@dataclass(frozen=True)
class Sum(TokenTask):
    """Uniform tokens, and once, at the end, their sum modulo `classes`: no prefix is asked."""

    classes: int = 7

    padded: bool = False
    """Whether tokens come with position ids, which count from the end, and with padding, in front
    of every second example."""

    tracks: int = 1
    """How many position ids a token has."""

    def __post_init__(self) -> None:
        require(self.padded or self.tracks == 1, "tracks", self.tracks, "1 without ids")

    @property
    def lengths(self) -> range:
        """Two tokens and more."""
        return range(2, 9)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Uniform tokens with their sum."""
        require(length in self.lengths, "length", length, f"one of {self.lengths}")
        words = bits(at(key.unsqueeze(-1), torch.arange(count, device=key.device)), length)
        tokens = below(words, self.classes)
        inputs = self._with_padding(tokens) if self.padded else tokens
        return Batch(inputs, self._sums(inputs))

    def targets(self, inputs: Any) -> Tensor:
        """All mass on the sum."""
        return functional.one_hot(self._sums(inputs), self.classes).float()

    def _with_padding(self, tokens: Tensor) -> Tokens:
        count, length = tokens.shape[-2:]
        places = torch.arange(length, device=tokens.device)
        whole = torch.arange(count, device=tokens.device) % 2 == 0
        mask = ((places > 0) | whole.unsqueeze(-1)).expand(tokens.shape)
        ids = places.flip(0).expand(tokens.shape)
        if self.tracks > 1:
            ids = torch.stack([ids // (track + 1) for track in range(self.tracks)], -1)
        return Tokens(tokens, ids, mask)

    def _sums(self, inputs: Any) -> Tensor:
        if not isinstance(inputs, Tensor):
            inputs = inputs.tokens * inputs.mask
        sums: Tensor = inputs.sum(-1) % self.classes
        return sums
