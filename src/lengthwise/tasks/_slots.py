"""Rows whose parts differ in size: written into slots, then moved together."""

import torch
from torch import Tensor

EMPTY = -1
"""A slot that holds nothing."""


def compact(slots: Tensor, fill: int) -> Tensor:
    """What slots hold, moved to the left in its order, and filled up: the shape of `slots`."""
    held = slots != EMPTY
    size = slots.shape[-1]
    place = (held.cumsum(-1) - 1).where(held, size)  # what is empty goes behind the end
    out = torch.full((*slots.shape[:-1], size + 1), fill, dtype=slots.dtype, device=slots.device)
    return out.scatter(-1, place, slots)[..., :-1]
