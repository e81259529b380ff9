"""What tasks with written numbers share: decimal digits as tensors, of numbers of any size."""

import numpy
import torch
from torch import Tensor

from lengthwise.randomness import below, unit
from lengthwise.tasks._slots import EMPTY

BASE = 10
END, OPERATOR, EQUALS, SPACE = range(BASE, BASE + 4)
"""Tokens beside the digits: the end of an answer, and in prompts `+` or `*`, `=` and a space."""

FIRST_HINT = BASE + 4


def count_numbers(size: int) -> int:
    """How many numbers of `size` digits there are: none begins with 0, but for 0 itself."""
    return BASE if size == 1 else (BASE - 1) * BASE ** (size - 1)


def draw_numbers(words: Tensor, sizes: Tensor | int) -> Tensor:
    """Numbers of exactly `sizes` digits, uniform: none begins with 0, but for 0 itself.

    Args:
        words: Random bits, `(..., most digits)`.
        sizes: How many digits each number has: `(..., 1)`, or one number for all.

    Returns:
        Digits, least significant first, with `EMPTY` in front of the number: `(..., most digits)`.
    """
    places = torch.arange(words.shape[-1], device=words.device)
    leading = (places == sizes - 1) & (places > 0)
    digits = below(words, BASE - leading.to(torch.int64)) + leading
    return digits if isinstance(sizes, int) else digits.masked_fill(places >= sizes, EMPTY)


def draw_sizes(words: Tensor, longest: int) -> Tensor:
    """How many digits each operand has: independent and uniform, given that one has `longest`.

    Args:
        words: Random bits, one more than there are operands: `(..., operands + 1)`.
        longest: The most digits of an operand.

    Returns:
        `(..., operands)`.
    """
    words, chosen = words[..., :-1], words[..., -1:]
    numbers = torch.arange(words.shape[-1], device=words.device)
    if longest == 1:
        return torch.ones_like(numbers).expand(words.shape)
    # The first of the longest is number j with a chance of (1 - 1/n)^j, up to a factor.
    chances = [((longest - 1) / longest) ** number for number in range(words.shape[-1])]
    ends = torch.tensor(chances, device=words.device).cumsum(0) / sum(chances)
    first = (unit(chosen) >= ends[:-1]).sum(-1, keepdim=True)
    sizes = 1 + below(words, longest - (numbers < first).to(torch.int64))
    return sizes.masked_fill(numbers == first, longest)


def carried(columns: Tensor, size: int) -> Tensor:
    """The decimal digits of `sum columns[i] * 10^i`, least significant first: `(..., size)`."""
    from lengthwise.tasks._kernels import carry

    rows = columns.flatten(0, -2).contiguous().cpu().numpy()
    digits = numpy.empty((len(rows), size), dtype=numpy.int64)
    carry(rows, digits)
    return torch.from_numpy(digits).view(*columns.shape[:-1], size).to(columns.device)


def significances(tokens: Tensor, *, reversed: bool) -> Tensor:
    """The significance of every digit within its number, 0 for the least: `tokens.shape`.

    Numbers end at any token that is greater than a digit and no space or hint, and at the end of
    the row. What is no digit gets a number without a meaning.
    """
    count = (tokens < BASE).cumsum(-1)
    ends = (tokens >= BASE) & (tokens < SPACE)
    if reversed:
        return count - 1 - count.masked_fill(~ends, 0).cummax(-1).values
    last = count[..., -1:]
    behind = count.where(ends, last).flip(-1).cummin(-1).values.flip(-1)
    return behind - count


def without_leading_zeros(digits: Tensor) -> Tensor:
    """Digits, least significant first, with `EMPTY` in place of leading zeros."""
    leading = digits.flip(-1).cumsum(-1).flip(-1) == 0
    leading[..., 0] = False  # zero itself is written
    return digits.masked_fill(leading, EMPTY)
