"""Compiled code of tasks. What tensor operations do in one step per token stands here.

Imported where it is used: its compiler takes most of a second to load.
"""

from typing import Any

import numpy
from numpy import int32, int64, uint32, uint64
from numpy.typing import NDArray

from lengthwise.compiled import compiled


@compiled
def choose_distinct(words: NDArray[int32], bound: int, chosen: NDArray[int64]) -> None:
    """Fill every row of `chosen` with distinct numbers of 0..bound-1, one for each random word.

    (Fisher-Yates, of which only the beginning is done, and undone for the next row.)
    """
    pool = numpy.arange(bound)
    places = numpy.empty(words.shape[1], dtype=numpy.int64)
    for row in range(words.shape[0]):
        for number in range(words.shape[1]):
            word = uint64(uint32(words[row, number]) ^ uint32(0x80000000))
            place = number + int64((word * uint64(bound - number)) >> uint64(32))
            places[number] = place
            chosen[row, number] = pool[place]
            pool[place] = pool[number]
            pool[number] = chosen[row, number]
        for number in range(words.shape[1] - 1, -1, -1):
            place = places[number]
            pool[number] = pool[place]
            pool[place] = chosen[row, number]


@compiled
def follow(
    drawn: NDArray[int64],
    noisy: NDArray[Any],
    table: NDArray[int64],
    reach: int,
    tokens: NDArray[int64],
) -> None:
    """Write every row of `tokens` as a source whose next token depends on those 1 and `reach` back.

    The next token is `table[1 back, reach back]`, or the one of `drawn` where `noisy` says so and
    where there is none `reach` back.
    """
    for row in range(drawn.shape[0]):
        for place in range(drawn.shape[1]):
            if place < reach or noisy[row, place]:
                tokens[row, place] = drawn[row, place]
            else:
                tokens[row, place] = table[tokens[row, place - 1], tokens[row, place - reach]]


@compiled
def carry(columns: NDArray[int64], digits: NDArray[int64]) -> None:
    """Write every row of `digits` with the decimal digits of what `columns` add up to.

    Column i counts 10^i; least significant digits stand first, and there are at least as many of
    them as columns.
    """
    for row in range(columns.shape[0]):
        carried = int64(0)
        for place in range(digits.shape[1]):
            if place < columns.shape[1]:
                carried += columns[row, place]
            digits[row, place] = carried % 10
            carried //= 10
