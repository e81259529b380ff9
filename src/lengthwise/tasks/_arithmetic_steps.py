"""Expressions, stacks and binary numbers in compiled code. Imported where it is used only."""

from typing import Any

from numpy import empty, int64, uint64
from numpy.typing import NDArray

from lengthwise.compiled import compiled

MODULUS = 5
PLUS, MINUS, TIMES, OPEN, CLOSE, UNKNOWN, EQUALS = range(MODULUS, MODULUS + 7)


@compiled
def _below(word: Any, bound: int) -> int:
    return ((int64(word) + (1 << 31)) * bound) >> 32  # type: ignore[return-value]


@compiled
def draw_expressions(words: NDArray[Any], operators: int, tokens: NDArray[int64]) -> None:
    """Fill `tokens`, `(rows, length)`, with expressions in brackets.

    One of 1 to 4 symbols is d, -d, (d) or (-d). A longer one is (left operator right), where all
    lengths of the left side are equally likely. Each symbol is chosen by the random number of its
    place: a digit, an operator, or for an opening bracket the length of the left side.
    """
    rows, length = tokens.shape
    waiting = empty((length, 2), dtype=int64)
    for row in range(rows):
        waiting[0, 0], waiting[0, 1], count = 0, length, 1
        while count:
            count -= 1
            start, size = waiting[count, 0], waiting[count, 1]
            if size > 4:
                left = 1 + _below(words[row, start], size - 4)
                middle = start + 1 + left
                tokens[row, start], tokens[row, start + size - 1] = OPEN, CLOSE
                tokens[row, middle] = PLUS + _below(words[row, middle], operators)
                waiting[count, 0], waiting[count, 1] = start + 1, left
                waiting[count + 1, 0], waiting[count + 1, 1] = middle + 1, size - 3 - left
                count += 2
                continue
            if size > 2:
                tokens[row, start], tokens[row, start + size - 1] = OPEN, CLOSE
                start, size = start + 1, size - 2
            if size == 2:
                tokens[row, start] = MINUS
                start += 1
            tokens[row, start] = _below(words[row, start], MODULUS)


@compiled
def evaluate(tokens: NDArray[int64], unknown: int, values: NDArray[int64]) -> None:
    """Fill in the values of expressions modulo 5; x is `unknown`, and = and what follows is left.

    Operators of one bracket go from the left, and * binds closer; a - with nothing before it
    negates.
    """
    rows, length = tokens.shape
    # Of every open bracket: the terms that are complete, the last term, the operator before what
    # comes next, and whether that is negated.
    frames = empty((length + 1, 4), dtype=int64)
    for row in range(rows):
        depth, awaiting = 0, True
        frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = 0, 0, PLUS, 1
        for place in range(length):
            token = tokens[row, place]
            if token == EQUALS:
                break
            if token == OPEN:
                depth += 1
                frames[depth, 0], frames[depth, 1] = 0, 0
                frames[depth, 2], frames[depth, 3] = PLUS, 1
                awaiting = True
                continue
            if PLUS <= token <= TIMES:
                if awaiting:
                    frames[depth, 3] = -1
                else:
                    frames[depth, 2], awaiting = token, True
                continue
            value = token
            if token == UNKNOWN:
                value = unknown
            elif token == CLOSE:
                value = frames[depth, 0] + frames[depth, 1]
                depth -= 1
            value = value * frames[depth, 3] % MODULUS
            if frames[depth, 2] == TIMES:
                frames[depth, 1] = frames[depth, 1] * value % MODULUS
            else:
                frames[depth, 0] += frames[depth, 1]
                frames[depth, 1] = value if frames[depth, 2] == PLUS else -value
            frames[depth, 3] = 1
            awaiting = False
        values[row] = (frames[0, 0] + frames[0, 1]) % MODULUS


@compiled
def hide_digits(words: NDArray[Any], tokens: NDArray[int64]) -> None:
    """Put x for the first digit of every row from a random place on, going around."""
    rows, length = tokens.shape
    for row in range(rows):
        place = _below(words[row], length)
        while tokens[row, place] >= MODULUS:
            place = (place + 1) % length
        tokens[row, place] = UNKNOWN


@compiled
def run_stacks(tokens: NDArray[int64], nothing: int, stacks: NDArray[int64]) -> None:
    """Fill `stacks`, one longer than `tokens`, with what is left, the top first, then 2.

    Tokens 0 and 1 are the stack at first, 2 takes the top away if there is one, 3 and 4 push 0 and
    1. Behind the 2 stands `nothing`.
    """
    rows, length = tokens.shape
    stack = empty(length + 1, dtype=int64)
    for row in range(rows):
        depth = 0
        for place in range(length):
            token = tokens[row, place]
            # Without a branch that nobody could foresee; what a POP writes is not on the stack.
            stack[depth] = token - 3 if token > 2 else token
            depth = max(depth + (-1 if token == 2 else 1), 0)
        for place in range(depth):
            stacks[row, place] = stack[depth - 1 - place]
        stacks[row, depth] = 2
        stacks[row, depth + 1 :] = nothing


@compiled
def combine_numbers(
    tokens: NDArray[int64], multiplied: bool, nothing: int, answers: NDArray[int64]
) -> None:
    """Fill `answers` with the sum or the product of two binary numbers, and 2 behind it.

    In every row of `tokens` a 2 stands between the numbers. Their lowest digits stand first, and
    zeros behind the highest one are left out. Behind the 2 of an answer stands `nothing`.
    """
    rows, length = tokens.shape
    width = answers.shape[1]
    parts = length // 32 + 1  # of 32 bits each, so that 64 hold a product and what is carried
    first, second = empty(parts, dtype=uint64), empty(parts, dtype=uint64)
    found = empty(2 * parts, dtype=uint64)
    for row in range(rows):
        first[:], second[:], found[:] = 0, 0, 0
        sign = 0
        while sign < length and tokens[row, sign] != 2:
            first[sign >> 5] |= uint64(tokens[row, sign] & 1) << uint64(sign & 31)
            sign += 1
        for place in range(length - sign - 1):
            digit = uint64(tokens[row, sign + 1 + place] & 1)
            second[place >> 5] |= digit << uint64(place & 31)
        for one in range(parts if multiplied else 1):
            carried = uint64(0)
            for other in range(parts):
                if multiplied:
                    carried += found[one + other] + first[one] * second[other]
                else:
                    carried += first[other] + second[other]
                found[one + other] = carried & uint64(0xFFFFFFFF)
                carried >>= uint64(32)
            found[one + parts] = carried
        size = 64 * parts
        while size and not (found[(size - 1) >> 5] >> uint64((size - 1) & 31)) & uint64(1):
            size -= 1
        for place in range(min(size, width)):
            answers[row, place] = int64((found[place >> 5] >> uint64(place & 31)) & uint64(1))
        answers[row, size : size + 1] = 2
        answers[row, size + 1 :] = nothing
