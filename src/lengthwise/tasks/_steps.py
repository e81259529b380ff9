"""Machines at work, in compiled code: words drawn, and read. Imported where it is used only."""

from typing import Any

from numpy import int64
from numpy.typing import NDArray

from lengthwise.compiled import compiled
from lengthwise.tasks._base import IGNORE_INDEX

_IGNORE = IGNORE_INDEX


@compiled
def _follow(
    configuration: int,
    symbol: int,
    depth: int,
    moves: NDArray[int64],
    change: NDArray[int64],
    stack: bool,
    memory: NDArray[int64],
) -> tuple[int, int]:
    """The next configuration and depth of the stack; `memory` holds the counters or the stack."""
    if stack:
        kinds = moves.shape[1] // 2
        if symbol < kinds:
            memory[depth] = symbol
            depth += 1
        else:
            depth -= 1
        return (memory[depth - 1] + 1 if depth else 0), depth
    pattern, counters = 0, change.shape[1]
    for counter in range(counters):
        memory[counter] += change[symbol, counter]
        if memory[counter] == 0:
            pattern |= 1 << counter
    return (moves[configuration, symbol] << counters) + pattern, depth


@compiled
def draw_words(
    words: NDArray[Any],
    leave: NDArray[int64],
    machine: tuple[Any, ...],
    order: NDArray[int64],
    live: NDArray[int64],
    stay: NDArray[int64],
    accepts: NDArray[Any],
    tokens: NDArray[int64],
    labels: NDArray[int64],
) -> None:
    """Fill `tokens` with BOS and a word each, and `labels` with an answer at every place.

    Args:
        words: Three random numbers for every place: the answer, whether to take a step of no
            return, and which step.
        leave: Of every row, how many out of 2**32 random numbers make it take such a step; 0 where
            all live symbols are equally likely.
        machine: Moves, changes, whether there is a stack, the counters at the start, the first
            configuration.
        order: The machine's.
        live: Of every configuration, how many symbols are live.
        stay: Of every configuration, how many of these stay.
        accepts: The machine's.
        tokens: `(rows, length)`, filled.
        labels: `(rows, length)`, filled.
    """
    moves, change, stack, counters, start = machine
    end, half = moves.shape[1], 1 << 31
    rows, length = tokens.shape
    memory = counters.copy() if not stack else counters.repeat(length + 1)
    for row in range(rows):
        if not stack:
            memory[:] = counters
        configuration, depth = start, 0
        symbol = end + 1
        for place in range(length):
            tokens[row, place] = symbol
            if symbol == end:
                labels[row, place] = _IGNORE
                continue
            count = live[configuration]
            answers = count + accepts[configuration]
            answer = ((int64(words[row, place, 0]) + half) * answers) >> 32
            labels[row, place] = order[configuration, answer] if answer < count else end
            if count == 0:
                symbol = end
                continue
            first, among, stays = 0, count, stay[configuration]
            if leave[row] > 0 and 0 < stays < count:
                if int64(words[row, place, 1]) + half < leave[row]:
                    first, among = stays, count - stays
                else:
                    among = stays
            chosen = ((int64(words[row, place, 2]) + half) * among) >> 32
            symbol = order[configuration, first + chosen]
            configuration, depth = _follow(
                configuration, symbol, depth, moves, change, stack, memory
            )


@compiled
def read_words(
    tokens: NDArray[int64], machine: tuple[Any, ...], configurations: NDArray[int64]
) -> None:
    """Fill in the configuration at every place of words behind BOS, or -1 where nothing is asked.

    That is behind the end of a word, and from the first symbol on that no word has there.
    """
    moves, change, stack, counters, start = machine
    end = moves.shape[1]
    rows, length = tokens.shape
    memory = counters.copy() if not stack else counters.repeat(length + 1)
    for row in range(rows):
        if not stack:
            memory[:] = counters
        configuration, depth = start if tokens[row, 0] == end + 1 else -1, 0
        configurations[row, 0] = configuration
        for place in range(1, length):
            symbol = tokens[row, place]
            if configuration >= 0 and symbol < end and moves[configuration, symbol] >= 0:
                configuration, depth = _follow(
                    configuration, symbol, depth, moves, change, stack, memory
                )
            else:
                configuration = -1
            configurations[row, place] = configuration
