"""xPos: rotary positions whose scores decay with the distance (arXiv 2212.10554)."""

import math

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.rotary import Rotary

GAMMA = 0.4
ROOM = 1e4
"""What queries times keys may be before they are scaled."""


@remedy("xpos")
class XPos(Rotary):
    """Rotary positions with a decay per pair of features, by the distance (arXiv 2212.10554).

    Pair i of d/2 turns as in `rotary`; a query at n is multiplied by z_i^((n - c) / 512) and a key
    at m by z_i^((c - m) / 512), z_i = (2i/d + 0.4) / 1.4, so that scores gain z_i^((n - m) / 512)
    and depend on distances only. 0.4 and 512 (`scale_base`) are the authors'. c is the middle of
    the ids of a sequence, which keeps the factors small: at 4096 tokens none is above 150. Those of
    hidden later keys still grow: scores would overflow beyond about 32000 tokens in float32 and
    bfloat16 and 768 in float16, and such inputs are refused. Beyond the training length slow pairs
    reach new angles, as rotary positions do, but fast ones have decayed; the paper reads such
    inputs with the remedy `blockwise`, at test only. Unlike in some public code, both features of a
    pair have the same decay.
    """

    def __init__(self, shape: Shape, *, scale_base: int = 512) -> None:
        """Check the width of one head."""
        super().__init__(shape)
        require(scale_base >= 1, "xpos:scale_base", scale_base, "at least 1")
        self.scale_base = scale_base

    def queries_keys(self, queries: Tensor, keys: Tensor, read: Keys) -> tuple[Tensor, Tensor]:
        """Both turned and scaled."""
        assert read.query_ids is not None
        assert read.key_ids is not None
        length, dtype = keys.shape[-2], queries.dtype
        most = self.most(dtype)
        require(length <= most, "length", length, f"at most {most} for xpos in {dtype}")
        queries, keys = super().queries_keys(queries, keys, read)
        centre = (read.key_ids.amin(-1, keepdim=True) + read.key_ids.amax(-1, keepdim=True)) / 2
        grown = self._scales(read.query_ids - centre, queries)
        shrunk = self._scales(centre - read.key_ids, keys)
        return queries * grown, keys * shrunk

    def most(self, dtype: torch.dtype) -> int:
        """The longest input whose scores do not overflow, those of hidden keys included."""
        room = math.log(torch.finfo(dtype).max / ROOM)
        return int(self.scale_base * room / math.log((1 + GAMMA) / GAMMA))

    def _scales(self, distance: Tensor, rows: Tensor) -> Tensor:
        """The factors of rows `(..., heads, length, width)` so far from the centre."""
        pairs = rows.shape[-1] // 2
        bases = (torch.arange(pairs, device=rows.device) / pairs + GAMMA) / (1 + GAMMA)
        wide = torch.promote_types(rows.dtype, torch.float32)
        scales = bases.to(wide) ** (distance.to(wide) / self.scale_base).unsqueeze(-1)
        if distance.dim() > 1:
            scales = scales.unsqueeze(-3)
        return torch.cat([scales, scales], -1).to(rows.dtype)
