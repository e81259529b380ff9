"""Inputs for training and inputs for tests that have none in common, without drawing twice."""

from functools import cache
from typing import Literal

import torch
from torch import Tensor

from lengthwise.randomness import address, at, below, bits

Split = Literal["train", "held-out"]
SPLITS = ("train", "held-out")


def split_symbol(words: Tensor, others: Tensor, base: int, split: str) -> Tensor:
    """The one symbol of every input that says whether it is held out: `words.shape`.

    A hash of all other symbols of an input names one value of this one, and inputs that have it are
    held out: one in `base`. So both parts are drawn directly, and uniformly, whatever their length.

    Args:
        words: Random bits of each input, of any shape.
        others: All other symbols, small whole numbers, `(*words.shape, number)`.
        base: The symbol is one of 0..base-1.
        split: "train" or "held-out".
    """
    hashed = ((others + 1) * _factors(base, others.shape[-1]).to(words.device)).sum(-1)
    named = below(bits(hashed, 1).squeeze(-1), base)
    if split == "held-out":
        return named
    return (named + 1 + below(words, base - 1)) % base


HELD_OUT_BITS = 3
"""How many bits say whether a string is held out: one in eight is."""


def split_bits(words: Tensor, split: str) -> Tensor:
    """Uniform bits, of which the last three say whether a string of four or more is held out.

    Args:
        words: Random bits, one word for each bit that is wanted: `(..., length)`.
        split: "train" or "held-out".
    """
    drawn = below(words, 2)
    if drawn.shape[-1] <= HELD_OUT_BITS:
        return drawn
    others = drawn[..., :-HELD_OUT_BITS]
    symbol = split_symbol(words[..., -1], others, 1 << HELD_OUT_BITS, split)
    shifts = torch.arange(HELD_OUT_BITS, device=words.device)
    return torch.cat([others, (symbol.unsqueeze(-1) >> shifts) & 1], -1)


def count_split(length: int, split: str) -> int:
    """How many strings of bits `split_bits` may give."""
    if length <= HELD_OUT_BITS:
        return 1 << length
    held_out = 1 << (length - HELD_OUT_BITS)
    return held_out if split == "held-out" else (1 << length) - held_out


@cache
def _factors(base: int, count: int) -> Tensor:
    """One per symbol; products and their sum wrap around at 64 bits."""
    return at(torch.tensor(address("split", base)), torch.arange(count))
