"""Regular expressions, made into machines.

Only what describes a regular language over the symbols that are written down: literals, classes,
`|`, `*`, `+`, `?`, `{m,n}` and brackets. Everything else is refused by its name.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy

from lengthwise.errors import InputError, require
from lengthwise.tasks._machines import MOST_STATES, Machine, automaton

FIELD = "expression"

MOST_REPEATS = 100
"""The most that {m,n} may ask for. Ours."""

MOST_PLACES = 10_000
"""The most places that an expression may have when its repeats are written out. Ours."""

OUTSIDE = {
    ".": "the dot, which means symbols that are not written down",
    "^": "the anchor ^: an expression is always the whole word",
    "$": "the anchor $: an expression is always the whole word",
}


def alphabet_of(expression: str) -> str:
    """The symbols of an expression, in their order."""
    return "".join(sorted(set(_symbols(_parsed(expression)))))


def compile_expression(expression: str, alphabet: str | None = None) -> Machine:
    """The smallest machine that reads the words of an expression.

    Args:
        expression: The expression, for whole words.
        alphabet: The symbols, if there are more than those of the expression.

    Raises:
        InputError: It is none, or has a construct that is out of reach; the message names it.
    """
    tree = _parsed(expression)
    graph = _Graph()
    first, last = graph.add(tree, expression)
    return _subsets(graph, first, last, alphabet or alphabet_of(expression), expression)


@dataclass(frozen=True)
class _Node:
    """A part of an expression: one of `symbols`, or parts that are joined as `kind` says."""

    kind: str
    symbols: str = ""
    parts: tuple["_Node", ...] = ()
    low: int = 0
    high: int | None = None


def _symbols(node: _Node) -> Iterator[str]:
    yield from node.symbols
    for part in node.parts:
        yield from _symbols(part)


def _parsed(expression: str) -> _Node:
    require(bool(expression), FIELD, expression, "a regular expression such as (ab)*")
    reader = _Reader(expression)
    tree = reader.alternatives()
    if reader.rest:
        raise reader.error("a bracket ( for every bracket )")
    return tree


class _Reader:
    """Reads an expression from the left."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.rest = expression

    def error(self, expected: str) -> InputError:
        return InputError(f"{FIELD} = {self.expression!r}: expected {expected}")

    def refused(self, construct: str) -> InputError:
        return self.error(
            f"literals, [classes], alternatives, repeats and brackets: found {construct}"
        )

    def take(self, count: int = 1) -> str:
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def alternatives(self) -> _Node:
        parts = [self.sequence()]
        while self.rest.startswith("|"):
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Node("any", parts=tuple(parts))

    def sequence(self) -> _Node:
        parts = []
        while self.rest and self.rest[0] not in "|)":
            parts.append(self.repeated(self.atom()))
        return _Node("all", parts=tuple(parts))

    def repeated(self, part: _Node) -> _Node:
        if not self.rest or self.rest[0] not in "*+?{":
            return part
        low, high = self.bounds()
        if self.rest and self.rest[0] in "*+?{":
            raise self.refused(f"a second quantifier, {self.rest[0]}, behind the first")
        return _Node("repeat", parts=(part,), low=low, high=high)

    def bounds(self) -> tuple[int, int | None]:
        sign = self.take()
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        inside, closing, self.rest = self.rest.partition("}")
        low, comma, high = inside.partition(",")
        numbers = (low.isascii() and low.isdigit()) and (high == "" or high.isdigit())
        if not (closing and numbers):
            raise self.error(f"numbers in {{m}}, {{m,}} or {{m,n}}, found {{{inside}{closing}")
        bounds = int(low), (int(high) if high else None) if comma else int(low)
        most = bounds[0] if bounds[1] is None else bounds[1]
        if not bounds[0] <= most <= MOST_REPEATS:
            raise self.error(f"m <= n <= {MOST_REPEATS} in {{m,n}}, found {{{inside}}}")
        return bounds

    def atom(self) -> _Node:
        sign = self.take()
        if sign == "(":
            if self.rest.startswith("?"):
                raise self.refused(f"a group of another kind, ({self.rest[:2]}")
            inside = self.alternatives()
            if self.take() != ")":
                raise self.error("a bracket ) for every bracket (")
            return inside
        if sign == "[":
            return _Node("symbol", symbols=self.members())
        if sign in OUTSIDE:
            raise self.refused(OUTSIDE[sign])
        if sign in "*+?{":
            raise self.error(f"something for {sign} to repeat")
        return _Node("symbol", symbols=self.escaped() if sign == "\\" else sign)

    def escaped(self) -> str:
        sign = self.take()
        if not sign or sign.isalnum():
            kind = "a reference" if sign.isdigit() else "the escape"
            raise self.refused(f"{kind} \\{sign}")
        return sign

    def members(self) -> str:
        if self.rest.startswith("^"):
            raise self.refused("a negated class [^...], which means symbols not written down")
        found = ""
        while self.rest and self.rest[0] != "]":
            sign = self.take()
            first = self.escaped() if sign == "\\" else sign
            if self.rest.startswith("-") and self.rest[1:2] not in ("", "]"):
                self.take()
                sign = self.take()
                last = self.escaped() if sign == "\\" else sign
                if first > last:
                    raise self.error(f"a range from low to high, found {first}-{last}")
                found += "".join(map(chr, range(ord(first), ord(last) + 1)))
            else:
                found += first
        if not found or self.take() != "]":
            raise self.error("a class of one or more symbols, [ab]")
        return found


@dataclass
class _Graph:
    """Places, with arrows for symbols and arrows for nothing."""

    arrows: list[list[tuple[str, int]]] = field(default_factory=list)
    silent: list[list[int]] = field(default_factory=list)

    def place(self, expression: str) -> int:
        expected = f"one that is shorter when its repeats are written out ({MOST_PLACES} places)"
        require(len(self.arrows) < MOST_PLACES, FIELD, expression, expected)
        self.arrows.append([])
        self.silent.append([])
        return len(self.arrows) - 1

    def add(self, node: _Node, expression: str) -> tuple[int, int]:
        """New places that read a part; the first and the last of them."""
        first, last = self.place(expression), self.place(expression)
        if node.kind == "symbol":
            self.arrows[first] += [(symbol, last) for symbol in node.symbols]
        elif node.kind == "any":
            for part in node.parts:
                begin, end = self.add(part, expression)
                self.silent[first].append(begin)
                self.silent[end].append(last)
        else:
            self.silent[self._chain(node, first, last, expression)].append(last)
        return first, last

    def _chain(self, node: _Node, first: int, last: int, expression: str) -> int:
        """Parts one after another from `first` on; those that may be left out lead to `last`."""
        here = first
        if node.kind == "all":
            every: Iterable[tuple[int, _Node]] = enumerate(node.parts)
        else:
            times = node.low if node.high is None else node.high
            every = enumerate(itertools.repeat(node.parts[0], times))
        for number, part in every:
            if node.kind == "repeat" and number >= node.low:
                self.silent[here].append(last)
            begin, end = self.add(part, expression)
            self.silent[here].append(begin)
            here = end
        if node.kind == "repeat" and node.high is None:
            begin, end = self.add(node.parts[0], expression)
            self.silent[here].append(begin)
            self.silent[end].append(here)
        return here

    def closed(self, places: Iterable[int]) -> frozenset[int]:
        """These places and all that nothing leads to from them."""
        found, waiting = set(places), list(places)
        while waiting:
            for place in self.silent[waiting.pop()]:
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return frozenset(found)


def _subsets(graph: _Graph, first: int, last: int, alphabet: str, expression: str) -> Machine:
    """The machine whose states are the sets of places that a word can have come to."""
    start = graph.closed([first])
    states, rows = {start: 0}, []
    waiting = [start]
    for state in waiting:
        row = [-1] * len(alphabet)
        for number, symbol in enumerate(alphabet):
            reached = [to for place in state for sign, to in graph.arrows[place] if sign == symbol]
            if not reached:
                continue
            following = graph.closed(reached)
            if following not in states:
                expected = f"one whose machine has at most {MOST_STATES} states"
                require(len(states) < MOST_STATES, FIELD, expression, expected)
                states[following] = len(states)
                waiting.append(following)
            row[number] = states[following]
        rows.append(row)
    accepts = numpy.array([last in state for state in waiting])
    return automaton(numpy.array(rows, dtype=numpy.int64), accepts)
