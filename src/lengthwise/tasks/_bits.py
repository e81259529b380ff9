"""Rows of bits as whole numbers of any size, and back."""

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor


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
