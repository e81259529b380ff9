"""Rows of bits as whole numbers of any size, and back."""

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from lengthwise.randomness import at, below, bits


def to_numbers(rows: Tensor) -> list[int]:
    """Rows of bits, `(rows, width)`, the lowest bit first."""
    packed = numpy.packbits(rows.to(torch.uint8).cpu().numpy(), axis=1, bitorder="little")
    size, whole = packed.shape[1], packed.tobytes()
    starts = range(0, len(whole), size)
    return [int.from_bytes(whole[start : start + size], "little") for start in starts]


def to_bits(numbers: Sequence[int], width: int, device: torch.device) -> Tensor:
    """The `width` lowest bits of each number, the lowest first: `(numbers, width)`."""
    size = width // 8 + 1
    whole = b"".join(number.to_bytes(size, "little") for number in numbers)
    packed = numpy.frombuffer(whole, dtype=numpy.uint8).reshape(-1, size)
    rows = numpy.unpackbits(packed, axis=1, count=width, bitorder="little")
    return torch.from_numpy(rows.astype(numpy.int64)).to(device)


def draw_positive(example: Tensor, width: int, sizes: Tensor) -> Tensor:
    """A number of 1..2**size - 1 for every example, all equally likely, the lowest bit first.

    Args:
        example: Streams, `(rows,)`.
        width: How many bits to give.
        sizes: How many of them are the number's own, 1..width, `(rows,)`; the others are 0.
    """
    own = torch.arange(width, device=example.device) < sizes.unsqueeze(-1)
    found = below(bits(at(example, 0), width), 2) * own
    found[:, 0] |= (sizes == 1).long()  # there is but one
    tries = 1
    while len(empty := (found.sum(-1) == 0).nonzero().squeeze(-1)):
        again = below(bits(at(example[empty], tries), width), 2)
        found[empty] = again * own[empty]
        tries += 1
    return found
