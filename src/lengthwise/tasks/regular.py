"""The other regular languages of arXiv 2009.11264 and 2410.02140."""

from dataclasses import dataclass
from typing import ClassVar

from lengthwise.tasks._base import task
from lengthwise.tasks._expressions import alphabet_of, compile_expression
from lengthwise.tasks._languages import Language
from lengthwise.tasks._machines import Machine


@dataclass(frozen=True)
class _Regular(Language):
    """The words of an expression."""

    expression: ClassVar[str]

    @property
    def alphabet(self) -> str:
        """The symbols of the expression."""
        return alphabet_of(self.expression)

    def machine(self) -> Machine:
        """The smallest one."""
        return compile_expression(self.expression)


@task("aa-star")
@dataclass(frozen=True)
class AAStar(_Regular):
    """(aa)*: a word may end after an even number of symbols."""

    expression = "(aa)*"


@task("aaaa-star")
@dataclass(frozen=True)
class AAAAStar(_Regular):
    """(aaaa)*: a word may end after a multiple of four symbols."""

    expression = "(aaaa)*"


@task("abab-star")
@dataclass(frozen=True)
class ABABStar(_Regular):
    """(abab)*: a and b in turn, and a word may end after a multiple of four symbols."""

    expression = "(abab)*"


@task("ab-d-bc")
@dataclass(frozen=True)
class ABDBC(_Regular):
    """{a,b}*d{b,c}*: d once, a only before it, c only behind it."""

    expression = "[ab]*d[bc]*"

    lasting: bool = True
    """Whether words hesitate before steps of no return, here the d."""


@task("012-02")
@dataclass(frozen=True)
class ZeroOneTwo(_Regular):
    """{0,1,2}*02*: all symbols are always legal, the end where the last one but 2 was a 0.

    (The labels of 2410.02140's code do not have the end right behind a 0; ours have.)
    """

    expression = "[012]*02*"


@task("abcde")
@dataclass(frozen=True)
class ABCDE(_Regular):
    """aa*bb*cc*dd*ee*: five blocks."""

    expression = "aa*bb*cc*dd*ee*"

    lasting: bool = True
    """Whether words hesitate before steps of no return, of which this language has four."""
