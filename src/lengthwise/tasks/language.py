"""A language of one's own: as a regular expression, or as a table of states."""

from dataclasses import dataclass
from functools import cache

import numpy

from lengthwise.errors import InputError, require
from lengthwise.tasks._base import task
from lengthwise.tasks._expressions import alphabet_of, compile_expression
from lengthwise.tasks._languages import Language
from lengthwise.tasks._machines import MOST_STATES, Machine, automaton, endless


@task("language")
@dataclass(frozen=True)
class RegularLanguage(Language):
    """The words that a regular expression matches as a whole."""

    expression: str = "(a|b)*abb"
    """The expression, of literals, [classes], |, *, +, ?, {m,n} and brackets."""

    lasting: bool = True
    """Whether words hesitate before steps of no return, such as the first b of a*b*."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_worth(self.machine(), self.alphabet, "expression", self.expression)

    @property
    def alphabet(self) -> str:
        """The symbols of the expression, in their order."""
        return alphabet_of(self.expression)

    def machine(self) -> Machine:
        """The smallest one."""
        return _compiled(self.expression)


@task("automaton")
@dataclass(frozen=True)
class Automaton(Language):
    """The words that a table of states accepts."""

    states: str = "even! 0:even 1:odd; odd 0:odd 1:even"
    """The states, with ; between them: the name, with ! behind it where a word may end, and for
    each symbol that is live the state that it leads to. The first state is where words begin."""

    lasting: bool = True
    """Whether words hesitate before steps of no return, such as the first b of a*b*."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_worth(self.machine(), self.alphabet, "states", self.states)

    @property
    def alphabet(self) -> str:
        """The symbols of the table, in their order."""
        return _read(self.states)[0]

    def machine(self) -> Machine:
        """The smallest one."""
        return _read(self.states)[1]


@cache
def _compiled(expression: str) -> Machine:
    return compile_expression(expression)


@cache
def _read(states: str) -> tuple[str, Machine]:
    """The alphabet of a table of states, and its machine."""
    rows = [row.split() for row in states.split(";") if row.strip()]
    example = 'a table such as "even! 0:even 1:odd; odd 0:odd 1:even"'
    require(0 < len(rows) <= MOST_STATES, "states", states, f"{example}, of 1..{MOST_STATES}")
    names = [row[0].removesuffix("!") for row in rows]
    arrows: list[dict[str, str]] = []
    for name, row in zip(names, rows, strict=True):
        arrows.append({})
        for arrow in row[1:]:
            symbol, target = arrow[0], arrow[2:]
            if len(arrow) < 3 or arrow[1] != ":" or symbol in arrows[-1]:
                raise _wrong(states, f"one symbol:state per symbol behind {name!r}, not {arrow!r}")
            if target not in names:
                raise _wrong(states, f"a state behind {symbol}: in {name!r}, not {target!r}")
            arrows[-1][symbol] = target
    if len(set(names)) < len(names):
        raise _wrong(states, "every state once")
    alphabet = "".join(sorted({symbol for row in arrows for symbol in row}))
    require(bool(alphabet), "states", states, f"symbols that lead on: {example}")
    moves = [[names.index(row[one]) if one in row else -1 for one in alphabet] for row in arrows]
    accepts = numpy.array([row[0].endswith("!") for row in rows])
    return alphabet, automaton(numpy.array(moves, dtype=numpy.int64), accepts)


def _wrong(states: str, expected: str) -> InputError:
    return InputError(f"states = {states!r}: expected {expected}")


def _require_worth(machine: Machine, alphabet: str, name: str, value: str) -> None:
    """Refuse languages in which there is nothing to learn at some length, or at any."""
    require(bool(machine.legal.any()), name, value, "a language with words: this one is empty")
    expected = "a language with words of any length: this one dies out"
    require(endless(machine), name, value, expected)
    always = ", ".join([*alphabet, "the end"])
    expected = f"a language in which something depends on the word: {always} are always legal here"
    same = (machine.legal == machine.legal[0]).all()
    require(not same, name, value, expected)
