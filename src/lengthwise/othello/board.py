"""Boards: their squares, their names and where a game starts."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from numpy import uint64

from lengthwise.errors import require

SIZES = (4, 6, 8)


@dataclass(frozen=True)
class Board:
    """A square board. Square 8 * row + column is bit 8 * row + column of a set, on any size.

    A smaller board is the corner of the 8 x 8 one at a1, so that a square has one number and one
    name everywhere, and one set of rules serves all.
    """

    size: int
    playable: uint64
    """The set of all its squares."""
    black: uint64
    """The discs of black, who moves first, at the start."""
    white: uint64
    moves: int
    """The most moves that a game can have: one per square that is empty at the start."""


@cache
def board_of(size: int) -> Board:
    """The board of a size: 4, 6 or 8."""
    require(_is_size(size), "board", size, f"a size out of {', '.join(map(str, SIZES))}")
    high = size // 2
    low = high - 1
    return Board(
        size=size,
        playable=_set((row, column) for row in range(size) for column in range(size)),
        black=_set([(low, high), (high, low)]),
        white=_set([(low, low), (high, high)]),
        moves=size * size - 4,
    )


def square_name(square: int) -> str:
    """The usual name: column a to h, then row 1 to 8."""
    return f"{'abcdefgh'[square % 8]}{square // 8 + 1}"


def _is_size(size: Any) -> bool:
    return isinstance(size, int) and size in SIZES


def _set(squares: Any) -> uint64:
    return uint64(sum(1 << (8 * row + column) for row, column in squares))
