"""What tasks over sets of items share."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.randomness import at, below, bits, bits_at

LONGEST = 1 << 24
"""The most items of a set: numbers of an example's stream are counted in 31 bits."""

SET_DEFAULTS = {
    "model": "set-reader",
    "min_train_length": 5,
    "max_train_length": 16,
    "batch": 128,
    "steps": 20_000,
    "test_lengths": tuple(2**power for power in range(4, 15)),
    "test_inputs": 8192,
    "test_items": 1 << 23,
    "learning_rate": 1e-3,
    "weight_decay": 1e-3,
    "beta2": 0.999,
    "grad_clip": 0.0,
    "warmup": 0,
    "ema_powers": (),
    "bias_powers": (),
}
"""How set readers are trained unless told otherwise: lengths, batch and rates of arXiv 2410.01104,
and nothing else done to the updates."""


def examples(key: Tensor, count: int) -> Tensor:
    """The stream of every example: `(..., count)`."""
    if key.device.type != "cpu":
        return at(key.unsqueeze(-1), torch.arange(count, device=key.device))
    from lengthwise.tasks._drawing import fill_examples

    streams = torch.empty(key.numel(), count, dtype=torch.int64)
    fill_examples(key.reshape(-1).contiguous().numpy(), streams.numpy())
    return streams.view(*key.shape, count)


SHUFFLE_TURNS = 16
"""Turns of rows and columns in `shuffled`; with 8, permutations of 5 were not equally likely."""


def shuffled(key: Tensor, numbers: Tensor, bound: int) -> Tensor:
    """Where each stream's own random permutation of 0..bound-1 takes `numbers`.

    Only the numbers asked for are computed, so a few out of very many distinct ones cost no more
    than a few. (A Feistel network: a number is a place in a table, every row of which is turned by
    an amount of its own, then every column, and so on. The table may have a few places too many: a
    number that lands on one of them is taken again until it is below `bound`.)

    Args:
        key: Streams, of any shape.
        numbers: Of 0..bound-1, `(*key.shape, count)`, or without the leading dimensions.
        bound: How many are permuted.
    """
    rows = math.isqrt(bound - 1) + 1
    columns = -(-bound // rows)
    found = numbers.expand(*key.shape, numbers.shape[-1])
    outside = torch.ones_like(found, dtype=torch.bool)
    while bool(outside.any()):
        row, column = found // columns, found % columns
        for turn in range(0, SHUFFLE_TURNS, 2):
            column = (column + below(bits_at(at(key, turn), row), columns)) % columns
            row = (row + below(bits_at(at(key, turn + 1), column), rows)) % rows
        found = torch.where(outside, row * columns + column, found)
        outside = found >= bound
    return found


def one_hot(label: Tensor, classes: int) -> Tensor:
    """Labels `(...)` as features `(..., classes)`."""
    return functional.one_hot(label, classes).to(torch.float32)


def even(classes: int) -> Tensor:
    """The answer rates where all classes are alike."""
    return torch.full((classes,), 1 / classes, dtype=torch.float64)


def directions(key: Tensor, width: int) -> Tensor:
    """A vector of length 1 out of each stream, in an almost uniform direction.

    A component is the sum of four uniform bytes before the vector is scaled: close to normal, and
    made of whole numbers, so that a vector has the same bits however it is drawn. (Vectorised
    logarithms and cosines round differently at the end of a tensor.)

    Returns:
        `(*key.shape, width)`.
    """
    if key.device.type == "cpu":
        from lengthwise.tasks._drawing import fill_directions

        vectors = torch.empty(*key.shape, width, dtype=torch.float32)
        fill_directions(key.reshape(-1).contiguous().numpy(), vectors.view(-1, width).numpy())
        return vectors
    words = bits(key, width)
    pairs = (words & 0xFF00FF) + ((words >> 8) & 0xFF00FF)
    whole = (pairs & 0xFFFF) + (pairs >> 16) - 510
    length = whole.to(torch.float64).square().sum(-1, keepdim=True).sqrt()
    return (whole / length.clamp(min=1.0)).to(torch.float32)
