"""Rotary positions (arXiv 2104.09864)."""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import Keys, Remedy, Shape, remedy


@remedy("rotary")
class Rotary(Remedy):
    """Queries and keys are turned by their positions, so that scores depend on distances.

    Feature i of the first half of a head turns together with feature i of the second half, by
    id * 10000^(-i / pairs). Nothing is learned per position; beyond the training length the slow
    pairs reach angles that training never saw.
    """

    positional = True

    def __init__(self, shape: Shape) -> None:
        """Check the width of one head."""
        super().__init__(shape)
        width = shape.head_width
        require(width % 2 == 0, "width of a head", width, "even, for rotary positions")

    @property
    def replaces(self) -> str:
        """The turning of queries and keys."""
        return "the turning of queries and keys"

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both turned."""
        assert read.query_ids is not None
        assert read.key_ids is not None
        return turned(queries, read.query_ids), turned(keys, read.key_ids)


def turned(rows: Tensor, ids: Tensor) -> Tensor:
    """Rows `(..., heads, length, width)` turned by their ids, `(..., length)`."""
    turns = angles(ids, rows.shape[-1] // 2, rows)
    if ids.dim() > 1:
        turns = turns.unsqueeze(-3)
    # Not the angles: rounded to bfloat16 they would be off by more the further the position.
    sine, cosine = turns.sin().to(rows.dtype), turns.cos().to(rows.dtype)
    first, second = rows.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def angles(ids: Tensor, pairs: int, like: Tensor) -> Tensor:
    """Position times frequency, `(*ids.shape, pairs)`, in float32 or wider."""
    frequencies = 10_000.0 ** -(torch.arange(pairs, device=like.device) / pairs)
    return (ids.unsqueeze(-1) * frequencies).to(torch.promote_types(like.dtype, torch.float32))
