"""Learned vectors for positions, and the same with a random start in training."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.remedies._base import Remedy, Shape, remedy

DEVIATION = 0.02
"""Standard deviation of the vectors that are added, as of all weights of a GPT at the start."""


@remedy("learned")
class Learned(Remedy):
    """A learned vector for each position id, added to the token's.

    With several ids per token there is a table for each, and their vectors are added. Beyond the
    training length nothing trains the vectors, which stay the small random ones they began as,
    drawn from N(0, 0.02) as in GPT-1 and GPT-2 (the code of Othello-GPT starts them at zero). Nor
    can weight decay or an average of the weights move them.
    """

    per_layer = False
    positional = True
    tracks = True
    # Part of the model's own stream, as every embedding is: results of version 0.1 rest on it.
    own_stream = False

    def __init__(self, shape: Shape) -> None:
        """Draw the vectors from N(0, 0.02)."""
        super().__init__(shape)
        self.max_length = shape.max_length
        size = (shape.max_length, shape.width)
        if shape.tracks > 1:
            size = (shape.tracks, *size)  # type: ignore[assignment]
        self.vectors = nn.Parameter(torch.randn(size) * DEVIATION)

    @property
    def replaces(self) -> str:
        """The vectors of positions."""
        return "the vectors of positions"

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Add the vectors of `ids`, `(length,)`, `(batch, length)` or with tracks behind that."""
        self._require_vectors(ids)
        if self.vectors.dim() == 2:
            return hidden + functional.embedding(ids, self.vectors)
        for track, vectors in enumerate(self.vectors.unbind()):
            hidden = hidden + functional.embedding(ids[..., track], vectors)
        return hidden

    def _require_vectors(self, ids: Tensor) -> None:
        """Refuse inputs that are too long, where ids count tokens; a task knows its own ids."""
        if ids.dim() == 1:
            length, most = len(ids), self.max_length
            require(length <= most, "length", length, f"at most {most}, all that have a vector")


@remedy("offset")
class Offset(Learned):
    """Learned positions whose numbering begins at random in training, so that all are trained.

    In training every sequence begins at a random position, as far from the start as its length
    allows; outside training it begins at 0. Where it begins depends on the module's key, the
    number of the forward pass and the sequence's place in the batch: see `lengthwise.randomness`.
    Also called random start; the position ids of a task are moved as a whole, and where a token has
    several, each kind by an amount of its own.
    """

    key: Tensor
    step: Tensor

    def __init__(self, shape: Shape) -> None:
        """Draw the vectors, and a key from torch's generator."""
        super().__init__(shape)
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def embedded(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """Add the vectors of `ids`, which begin at random in training."""
        if self.training:
            self._require_vectors(ids)
            tracks = len(self.vectors) if self.vectors.dim() == 3 else 1
            words = bits(at(self.key, self.step), hidden.shape[-3] * tracks)
            self.step.add_(1)
            if tracks > 1:
                words = words.unflatten(-1, (-1, tracks))
                ids = below(words, self.max_length - ids.amax(-2)).unsqueeze(-2) + ids
            else:
                ids = below(words, self.max_length - ids.amax(-1)).unsqueeze(-1) + ids
        return super().embedded(hidden, ids)
