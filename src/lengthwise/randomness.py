"""Random numbers that are addressed, not consumed.

What a model draws at step t is a pure function of where it stands: (seed, trial, what for, step,
element). Nothing is used up, so the same model sees the same numbers alone, in any fleet, on any
device and after a resume.

A *key* is a 64-bit integer that names a stream. `address` makes one from a path such as
`(seed, trial, "data")`; `at` goes one level down, to a step of it; `bits` gives its numbers.
Everything but `address` is made of integer tensor operations, so it works under `vmap` and on any
device. The mixers are the finalisers of SplitMix64 (keys) and lowbias32 (numbers).
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


def _signed(value: int, width: int) -> int:
    """Read an unsigned integer of `width` bits as the signed integer that torch can hold."""
    return value - (1 << width) if value >> (width - 1) else value


_GOLDEN = _signed(0x9E3779B97F4A7C15, 64)
_SPLITMIX_1 = _signed(0xBF58476D1CE4E5B9, 64)
_SPLITMIX_2 = _signed(0x94D049BB133111EB, 64)
_LOWBIAS_1 = 0x7FEB352D
_LOWBIAS_2 = _signed(0x846CA68B, 32)


def address(*path: int | str) -> int:
    """The key of the stream at `path`; different paths give unrelated streams.

    Args:
        *path: Numbers and words, such as a seed and a name.
    """
    text = "\0".join(f"{type(part).__name__}:{part}" for part in path)
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def at(key: Tensor, step: Tensor | int) -> Tensor:
    """The key of sub-stream number `step` of `key`; shapes broadcast.

    Args:
        key: Streams.
        step: Numbers of sub-streams.
    """
    # As a tensor, because only tensors wrap around at 64 bits.
    return _mixed(key + (torch.as_tensor(step, device=key.device) + 1) * _GOLDEN)


def bits(key: Tensor, count: int, first: int = 0) -> Tensor:
    """Numbers `first`, `first + 1`, ... of each stream: int32, uniform over its whole range.

    Args:
        key: int64 of any shape.
        count: How many numbers to give; number i does not depend on it.
        first: The number to begin with.

    Returns:
        int32 of shape `(*key.shape, count)`.
    """
    return bits_at(key, torch.arange(first, first + count, dtype=torch.int32, device=key.device))


def bits_at(key: Tensor, numbers: Tensor) -> Tensor:
    """As `bits`, but any `numbers` of a stream: `(*key.shape, count)`, or `(count,)` for all.

    Args:
        key: Streams.
        numbers: Which of their numbers.
    """
    key = _mixed(key)
    low = key.to(torch.int32).unsqueeze(-1)
    high = _shift(key, 32, 64).to(torch.int32).unsqueeze(-1)
    mixed = numbers.to(torch.int32) ^ low
    mixed = (mixed ^ _shift(mixed, 16, 32)) * _LOWBIAS_1
    mixed = (mixed ^ _shift(mixed, 15, 32)) * _LOWBIAS_2
    return (mixed ^ _shift(mixed, 16, 32)) + high


def below(words: Tensor, bound: int | Tensor) -> Tensor:
    """Turn `bits` into integers of 0..bound-1 (a bias of at most bound / 2**32 is accepted).

    Args:
        words: What `bits` gave.
        bound: How many numbers there are.
    """
    return ((words.to(torch.int64) + (1 << 31)) * bound) >> 32


def unit(words: Tensor) -> Tensor:
    """Turn `bits` into float32 numbers of [0, 1): multiples of 2**-24, equally likely.

    Args:
        words: What `bits` gave.
    """
    return ((words >> 8) & 0xFFFFFF).to(torch.float32) * 2.0**-24


def where() -> int:
    """A key of where torch's own generator stands; it draws nothing."""
    digest = hashlib.blake2b(torch.get_rng_state().numpy().tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


@contextmanager
def seeded(*path: int | str) -> Iterator[None]:
    """Inside, torch's own generator is at the start of the stream at `path`; outside, untouched.

    Args:
        *path: Numbers and words, as in `address`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(address(*path))
        yield


def _mixed(key: Tensor) -> Tensor:
    """Spread every bit of a key over all 64, so that near keys give unrelated numbers."""
    key = (key ^ _shift(key, 30, 64)) * _SPLITMIX_1
    key = (key ^ _shift(key, 27, 64)) * _SPLITMIX_2
    return key ^ _shift(key, 31, 64)


def _shift(value: Tensor, count: int, width: int) -> Tensor:
    """Shift right, filling with zeros (torch's own shift repeats the sign)."""
    return (value >> count) & ((1 << (width - count)) - 1)
