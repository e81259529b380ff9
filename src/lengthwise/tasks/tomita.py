"""The seven languages of Tomita (1982) over 0 and 1, as arXiv 2009.11264 and 2410.02140 ask them.

Both papers ask languages 5 and 6 for membership and the others for legal symbols. Here all are
asked for legal symbols and the end. (The labels of 2410.02140's code for Tomita-3 take a live state
for a dead one; ours do not.)
"""

from dataclasses import dataclass
from functools import cache

import numpy

from lengthwise.tasks._base import task
from lengthwise.tasks._expressions import compile_expression
from lengthwise.tasks._languages import Language
from lengthwise.tasks._machines import Machine, automaton


@dataclass(frozen=True)
class _Tomita(Language):
    """Words of 0 and 1."""

    alphabet = "01"


@task("tomita-1")
@dataclass(frozen=True)
class Tomita1(_Tomita):
    """Words of ones alone: 1*. There is one word of every length."""

    def machine(self) -> Machine:
        """1*."""
        return _compiled("1*")


@task("tomita-2")
@dataclass(frozen=True)
class Tomita2(_Tomita):
    """One and zero in turn: (10)*. There is one word of every even length."""

    def machine(self) -> Machine:
        """(10)*."""
        return _compiled("(10)*")


@task("tomita-3")
@dataclass(frozen=True)
class Tomita3(_Tomita):
    """An odd number of ones in a row is never followed by an odd number of zeros in a row."""

    def machine(self) -> Machine:
        """Ones: even so far, odd; then zeros behind odd ones: odd, even."""
        moves = numpy.array([[0, 1], [2, 0], [3, -1], [2, 1]])
        return automaton(moves, numpy.array([True, True, False, True]))


@task("tomita-4")
@dataclass(frozen=True)
class Tomita4(_Tomita):
    """Never three zeros in a row."""

    def machine(self) -> Machine:
        """At most two zeros before every one, and at the end."""
        return _compiled("(0?0?1)*0?0?")


@task("tomita-5")
@dataclass(frozen=True)
class Tomita5(_Tomita):
    """An even number of zeros and an even number of ones."""

    def machine(self) -> Machine:
        """State 2 * (zeros mod 2) + (ones mod 2)."""
        moves = numpy.array([[2, 1], [3, 0], [0, 3], [1, 2]])
        return automaton(moves, numpy.array([True, False, False, False]))


@task("tomita-6")
@dataclass(frozen=True)
class Tomita6(_Tomita):
    """As many zeros as ones, up to a multiple of three."""

    def machine(self) -> Machine:
        """Zeros minus ones, modulo 3."""
        moves = numpy.array([[1, 2], [2, 0], [0, 1]])
        return automaton(moves, numpy.array([True, False, False]))


@task("tomita-7")
@dataclass(frozen=True)
class Tomita7(_Tomita):
    """At most four blocks: 0*1*0*1*."""

    lasting: bool = True
    """Whether words hesitate before steps of no return, of which this language has three."""

    def machine(self) -> Machine:
        """0*1*0*1*."""
        return _compiled("0*1*0*1*")


@cache
def _compiled(expression: str) -> Machine:
    return compile_expression(expression, "01")
