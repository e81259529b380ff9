"""Machines that read words: finite states, with counters or a stack beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy
from numpy import bool_, int64
from numpy.typing import NDArray

MOST_STATES = 500
"""The most states of a machine. Ours."""

Moves = NDArray[int64]
Accepts = NDArray[bool_]


@dataclass(frozen=True, eq=False)
class Machine:
    """What may follow a word depends on its configuration alone, and so does whether it may end.

    A configuration is a state together with which of the counters are zero, `state * patterns +
    pattern`; without counters it is the state. Of a machine with a stack it is 0 for an empty
    stack, and 1 + s for one with s on top: symbols 0..n/2-1 are pushed, and symbol n/2 + s takes s
    away.
    """

    moves: Moves
    """`(configurations, symbols)`: the next state, or -1 where no word of the language goes on so.
    Behind a move with a stack stands 0; the stack itself says what comes."""

    accepts: Accepts
    """`(configurations,)`: whether the word may end here."""

    change: NDArray[int64]
    """`(symbols, counters)`: what a symbol adds to each counter."""

    counters: tuple[int, ...] = ()
    """What the counters hold before the first symbol. The first state is 0."""

    stack: bool = False
    """Whether there is a stack."""

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return self.moves.shape[1]

    @property
    def patterns(self) -> int:
        """How many configurations a state has."""
        return 1 << len(self.counters)

    @cached_property
    def start(self) -> int:
        """The configuration of the empty word."""
        return sum(1 << index for index, value in enumerate(self.counters) if value == 0)

    @cached_property
    def legal(self) -> NDArray[bool_]:
        """`(configurations, symbols + 1)`: what may follow; the last one is the end."""
        return numpy.hstack([self.moves >= 0, self.accepts[:, None]])

    @cached_property
    def stays(self) -> NDArray[bool_]:
        """`(configurations, symbols)`: whether a move can be undone by others, state by state."""
        if self.stack:
            return self.moves >= 0
        source = numpy.arange(len(self.moves))[:, None] // self.patterns
        back = reached(self._arrows())[self.moves, source]
        return numpy.asarray((self.moves >= 0) & back)

    @cached_property
    def order(self) -> NDArray[int64]:
        """`(configurations, symbols)`: live symbols first, and of these the ones that stay."""
        rank = 2 - (self.moves >= 0).astype(int64) - self.stays
        return numpy.argsort(rank, axis=1, kind="stable").astype(int64)

    @property
    def one_way(self) -> bool:
        """Whether somewhere a word may both stay and take a step from which it never returns."""
        live = self.moves >= 0
        return bool((self.stays.any(1) & (live & ~self.stays).any(1)).any())

    def _arrows(self) -> NDArray[bool_]:
        """`(states, states)`: whether one move leads from a state to another."""
        states = len(self.moves) // self.patterns
        arrows = numpy.zeros((states, states), dtype=bool)
        configuration, symbol = numpy.nonzero(self.moves >= 0)
        arrows[configuration // self.patterns, self.moves[configuration, symbol]] = True
        return arrows


def automaton(moves: Moves, accepts: Accepts) -> Machine:
    """The smallest machine without counters that does the same.

    Args:
        moves: `(states, symbols)`: the next state, or -1; state 0 is the first.
        accepts: `(states,)`: where words may end.

    Returns:
        A machine all of whose states lie on the way to an end. If no word has an end, it has one
        state, no moves, and accepts nothing.
    """
    moves, accepts = _trimmed(moves, accepts)
    # States are told apart by what they accept, then by where they lead, until nothing changes.
    kind, kinds = accepts.astype(int64), len(set(accepts.tolist()))
    while True:
        rows = numpy.column_stack([kind, numpy.where(moves >= 0, kind[moves], -1)])
        _, first, kind = numpy.unique(rows, axis=0, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
        if len(first) == kinds:
            break
        kinds = len(first)
    # Numbered by their first state, so that the first of all stays the first.
    number = numpy.argsort(numpy.argsort(first))
    kind, first = number[kind], numpy.sort(first)
    joined = numpy.where(moves[first] >= 0, kind[moves[first]], -1).astype(int64)
    return Machine(joined, accepts[first], numpy.zeros((moves.shape[1], 0), dtype=int64))


def reached(arrows: NDArray[bool_]) -> NDArray[bool_]:
    """Which states lead to which others, by any number of arrows, of one or more."""
    found = arrows
    while True:
        further = found | (found.astype(numpy.float32) @ found.astype(numpy.float32) > 0)
        if (further == found).all():
            return found
        found = further


def endless(machine: Machine) -> bool:
    """Whether a machine without counters has words of any length."""
    return bool(reached(machine._arrows()).diagonal().any())


def _trimmed(moves: Moves, accepts: Accepts) -> tuple[Moves, Accepts]:
    """Without the states that no word reaches, or from which none ends."""
    states, symbols = moves.shape
    arrows = numpy.zeros((states, states), dtype=bool)
    source, symbol = numpy.nonzero(moves >= 0)
    arrows[source, moves[source, symbol]] = True
    ways = reached(arrows) | numpy.eye(states, dtype=bool)
    kept = ways[0] & ways[:, accepts].any(1)
    if not kept[0]:
        return numpy.full((1, symbols), -1, dtype=int64), numpy.zeros(1, dtype=bool)
    number = numpy.where(kept, numpy.cumsum(kept) - 1, -1)
    return numpy.where(moves >= 0, number[moves], -1)[kept].astype(int64), accepts[kept]


def counting(
    states: Sequence[Sequence[str]],
    accepts: Sequence[str],
    change: Sequence[Sequence[int]],
    counters: Sequence[int],
    alphabet: str,
) -> Machine:
    """A machine with counters, written down by hand.

    Args:
        states: For every state its moves, each as "symbols next-state condition", where a condition
            says of every counter whether it must be 0, must be more (+) or may be either (?).
        accepts: For every state the condition under which a word may end, or "" for never.
        change: `(symbols, counters)`.
        counters: What they hold at the start.
        alphabet: The symbols.
    """
    patterns = 1 << len(counters)
    moves = numpy.full((len(states) * patterns, len(alphabet)), -1, dtype=int64)
    ends = numpy.zeros(len(states) * patterns, dtype=bool)
    for state, arrows in enumerate(states):
        for pattern in range(patterns):
            row = state * patterns + pattern
            ends[row] = bool(accepts[state]) and _holds(accepts[state], pattern)
            for arrow in arrows:
                symbols, target, condition = arrow.split()
                if _holds(condition, pattern):
                    for symbol in symbols:
                        moves[row, alphabet.index(symbol)] = int(target)
    return Machine(moves, ends, numpy.array(change, dtype=int64), tuple(counters))


def _holds(condition: str, pattern: int) -> bool:
    zero = ["0" if pattern >> index & 1 else "+" for index in range(len(condition))]
    return all(asked in ("?", found) for asked, found in zip(condition, zero, strict=True))
