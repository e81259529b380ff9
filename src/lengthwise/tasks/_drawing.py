"""What is drawn from streams in compiled code: the numbers of `lengthwise.randomness`.

There each takes some fifteen passes over memory, here one. Imported where it is used: its compiler
takes most of a second to load.
"""

from typing import Any

from numpy import float32, int32, int64, sqrt, uint32, uint64
from numpy.typing import NDArray

from lengthwise.compiled import compiled

_GOLDEN = 0x9E3779B97F4A7C15


@compiled
def _mixed(key: Any) -> Any:
    key = (key ^ (key >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> uint64(27))) * uint64(0x94D049BB133111EB)
    return key ^ (key >> uint64(31))


@compiled
def _at(key: Any, step: int) -> Any:
    return _mixed(key + uint64(step + 1) * uint64(_GOLDEN))


@compiled
def _word(mixed: Any, number: Any) -> Any:
    """Number `number` of the stream whose key is `mixed` already."""
    # Without the casts Numba would go on in 64 bits, half as many to a register.
    word = uint32(number) ^ uint32(mixed)
    word = uint32((word ^ (word >> uint32(16))) * uint32(0x7FEB352D))
    word = uint32((word ^ (word >> uint32(15))) * uint32(0x846CA68B))
    return uint32((word ^ (word >> uint32(16))) + uint32(mixed >> uint64(32)))


@compiled
def _below(word: Any, bound: int) -> int:
    return int64((uint64(word ^ uint32(0x80000000)) * uint64(bound)) >> uint64(32))  # type: ignore[return-value]


@compiled
def fill_examples(keys: NDArray[int64], streams: NDArray[int64]) -> None:
    """Fill `(keys, count)` with the stream of every example."""
    for row in range(streams.shape[0]):
        for number in range(streams.shape[1]):
            streams[row, number] = int64(_at(uint64(keys[row]), number))


@compiled
def fill_words(keys: NDArray[int64], step: int, first: int, words: NDArray[int32]) -> None:
    """Fill every row with numbers `first`, `first + 1`, ... of sub-stream `step` of its stream."""
    for row in range(words.shape[0]):
        mixed = _mixed(_at(uint64(keys[row]), step))
        for number in range(words.shape[1]):
            words[row, number] = int32(_word(mixed, uint32(first) + uint32(number)))


@compiled
def fill_directions(keys: NDArray[int64], vectors: NDArray[float32]) -> None:
    """Fill every row of `vectors` with a vector of length 1: see `directions`."""
    for row in range(vectors.shape[0]):
        mixed = _mixed(uint64(keys[row]))
        squares = int64(0)
        for place in range(vectors.shape[1]):
            word = _word(mixed, uint32(place))
            pairs = uint32((word & uint32(0xFF00FF)) + ((word >> uint32(8)) & uint32(0xFF00FF)))
            whole = int32(pairs & uint32(0xFFFF)) + int32(pairs >> uint32(16)) - int32(510)
            squares += whole * whole
            vectors[row, place] = float32(whole)
        length = max(sqrt(float(squares)), 1.0)
        for place in range(vectors.shape[1]):
            vectors[row, place] = float32(vectors[row, place] / length)


@compiled
def fill_stacks(keys: NDArray[int64], tokens: NDArray[int64]) -> None:
    """Fill `tokens` with stacks of 0 and 1, of any size, and what is done to them, 2 to 4."""
    length = tokens.shape[1]
    for row in range(tokens.shape[0]):
        key = uint64(keys[row])
        size = 1 + _below(_word(_mixed(_at(key, 0)), uint32(0)), max(1, length - 1))
        mixed = _mixed(_at(key, 1))
        for place in range(size):
            tokens[row, place] = _below(_word(mixed, uint32(place)), 2)
        for place in range(size, length):
            tokens[row, place] = 2 + _below(_word(mixed, uint32(place)), 3)


@compiled
def _fill_positive(key: Any, digits: NDArray[int64]) -> None:
    """A number of 1..2**size - 1, all equally likely: of every try that is 0 there is another."""
    if len(digits) == 1:  # there is but one
        digits[0] = 1
        return
    tries, empty = 0, True
    while empty:
        mixed, found = _mixed(_at(key, tries)), int64(0)
        for place in range(len(digits)):
            digits[place] = _below(_word(mixed, uint32(place)), 2)
            found |= digits[place]
        tries, empty = tries + 1, found == 0


@compiled
def fill_positive(keys: NDArray[int64], digits: NDArray[int64]) -> None:
    """Fill every row of `digits` with a positive binary number, the lowest digit first."""
    for row in range(digits.shape[0]):
        _fill_positive(_at(uint64(keys[row]), 0), digits[row])


@compiled
def fill_pairs(keys: NDArray[int64], sign: int, tokens: NDArray[int64]) -> None:
    """Fill `tokens` with positive binary numbers, the lowest digit first, and `sign` in between."""
    length = tokens.shape[1]
    for row in range(tokens.shape[0]):
        key = uint64(keys[row])
        first = 1 + _below(_word(_mixed(_at(key, 0)), uint32(0)), length - 2)
        _fill_positive(_at(key, 1), tokens[row, :first])
        tokens[row, first] = sign
        _fill_positive(_at(key, 2), tokens[row, first + 1 :])
