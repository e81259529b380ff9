"""Learned vectors for positions, and the same with a random start in training."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Shape

DEVIATION = 0.02
"""Standard deviation of the vectors that are added, as of all weights of a GPT at the start."""


@remedy("learned")
class Learned(Remedy):
    """A learned vector for each position id, added to the token's (GPT-2; arXiv 1705.03122).

    h_i + e[id of i]. Ids are 0, 1, ... unless the task gives others; with several ids per token
    there is a table for each, and their vectors are added. Beyond the training length nothing
    trains the vectors, which stay the small random ones they began as, drawn from N(0, 0.02) as in
    GPT-1 and GPT-2 (the code of Othello-GPT starts them at zero). Nor can weight decay or an
    average of the weights move them. An input longer than the number of ids is refused, unless the
    task gives the ids, which tokens may share. It is not `offset`, which trains all vectors.
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
        self._require_length(ids)
        if self.vectors.dim() == 2:
            return hidden + functional.embedding(ids, self.vectors)
        for track, vectors in enumerate(self.vectors.unbind()):
            hidden = hidden + functional.embedding(ids[..., track], vectors)
        return hidden

    def _require_length(self, ids: Tensor) -> None:
        if ids.dim() > 1:
            return  # a task gives them, and several tokens may share one
        length, most = len(ids), self.max_length
        require(length <= most, "length", length, f"at most {most}, all that have a vector")


@remedy("offset")
class Offset(Learned):
    """Learned positions that begin at random in training; position coupling (arXiv 2405.20671).

    In training every sequence begins at a random position, as far from the start as its ids
    allow, so that all vectors are trained, beyond the training length too; outside training it
    begins at 0. Where it begins depends on the module's key, the number of the forward pass and the
    sequence's place in the batch: see `lengthwise.randomness`. With ids 0, 1, ... this is called
    random start. Ids that a task gives are moved as a whole, each track by a draw of its own: if
    tokens that belong together, such as digits of equal significance, have the same id, this is
    position coupling. (Its authors' code leaves padding at id 0 and begins at 1 in tests; here
    padding is not read, and the task's smallest id is 0.)
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
            self._require_length(ids)
            stream, count = at(self.key, self.step), hidden.shape[-3]
            self.step.add_(1)
            if self.vectors.dim() == 2:
                tokens, words = -1, bits(stream, count)
            else:
                tracks = torch.arange(len(self.vectors), device=ids.device)
                tokens, words = -2, bits(at(stream, tracks), count).mT
            ids = below(words, self.max_length - ids.amax(tokens)).unsqueeze(tokens) + ids
        return super().embedded(hidden, ids)
