"""Rotary positions (arXiv 2104.09864)."""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape

BASE = 10_000.0


@remedy("rotary")
class Rotary(Remedy):
    """Queries and keys turned by position, so that scores see distances (arXiv 2104.09864).

    Feature i of the first half of a head turns together with feature i of the second half, by
    id * 10000^(-i / pairs), the paper's frequencies. (Halves instead of neighbours, as in GPT-NeoX
    and Llama; for learned projections that is the same.) Nothing is learned per position. Beyond
    the training length the slow pairs reach angles that training never saw, and scores go astray:
    `interpolated`, `dynamic-ntk` and `yarn` change the frequencies of a trained model. All features
    turn, not a part of them.
    """

    positional = True
    by_query = True

    def __init__(self, shape: Shape) -> None:
        """Check the width of one head."""
        super().__init__(shape)
        width = shape.head_width
        require(width % 2 == 0, "width of a head", width, f"even, for {self.name} positions")

    @property
    def replaces(self) -> str:
        """The turning of queries and keys."""
        return "the turning of queries and keys"

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both turned."""
        assert read.query_ids is not None
        assert read.key_ids is not None
        turns = self.frequencies(queries.shape[-1] // 2, read.key_ids)
        return turned(queries, read.query_ids, turns), turned(keys, read.key_ids, turns)

    def frequencies(self, pairs: int, ids: Tensor) -> Tensor:
        """By how much every pair turns from one position to the next, for keys at `ids`."""
        return frequencies(pairs, ids.device)


def frequencies(pairs: int, device: torch.device) -> Tensor:
    """The paper's, `(pairs,)`."""
    return BASE ** -(torch.arange(pairs, device=device) / pairs)


def turned(rows: Tensor, ids: Tensor, turns: Tensor) -> Tensor:
    """Rows `(..., heads, length, width)` turned by their ids `(..., length)` times `turns`."""
    angle = angles(ids, turns, rows)
    if angle.dim() > 2:
        angle = angle.unsqueeze(-3)
    # Not the angles: rounded to bfloat16 they would be off by more the further the position.
    sine, cosine = angle.sin().to(rows.dtype), angle.cos().to(rows.dtype)
    first, second = rows.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def angles(ids: Tensor, turns: Tensor, like: Tensor) -> Tensor:
    """Position times frequency, `(*ids.shape, pairs)`, in float32 or wider."""
    return (ids.unsqueeze(-1) * turns).to(torch.promote_types(like.dtype, torch.float32))
