"""Languages of brackets of arXiv 2009.11264 and 2410.02140: Dyck, of bounded depth, shuffled."""

from dataclasses import dataclass

import numpy

from lengthwise.errors import require
from lengthwise.tasks._base import task
from lengthwise.tasks._languages import Language
from lengthwise.tasks._machines import MOST_STATES, Machine, automaton, counting

OPENING, CLOSING = "([{<ABCD", ")]}>abcd"


@task("dyck-1")
@dataclass(frozen=True)
class Dyck1(Language):
    """Brackets of one kind that match. The depth of a word is a random walk that stays above 0."""

    alphabet = "()"

    def machine(self) -> Machine:
        """A counter of open brackets."""
        return counting([["( 0 ?", ") 0 +"]], ["0"], [[1], [-1]], [0], self.alphabet)


@task("d-n")
@dataclass(frozen=True)
class DN(Language):
    """D_n = (a D_(n-1) b)*: Dyck-1 of a depth of at most n."""

    alphabet = "ab"

    n: int = 4
    """The largest depth."""

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = f"a depth of 1..{MOST_STATES - 1}"
        require(1 <= self.n < MOST_STATES, "n", self.n, expected)

    def machine(self) -> Machine:
        """A state for every depth."""
        depth = numpy.arange(self.n + 1)
        deeper = numpy.where(depth < self.n, depth + 1, -1)
        return automaton(numpy.column_stack([deeper, depth - 1]), depth == 0)


@dataclass(frozen=True)
class _Kinds(Language):
    """Brackets of k kinds."""

    k: int = 2
    """How many kinds of brackets there are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        most = len(OPENING)
        require(1 <= self.k <= most, "k", self.k, f"a number of kinds, 1..{most}")

    @property
    def alphabet(self) -> str:
        """Opening brackets, then closing ones."""
        return OPENING[: self.k] + CLOSING[: self.k]


@task("dyck-k")
@dataclass(frozen=True)
class DyckK(_Kinds):
    """Brackets of k kinds that match: the last one opened is closed first.

    Of the k + 1 symbols that are mostly live, one closes: words go deeper by (k - 1) / (k + 1) per
    symbol, and for k > 1 hardly one that is long returns to where it may end.
    """

    def machine(self) -> Machine:
        """A stack; what may be closed is what lies on top."""
        every, none = numpy.eye(self.k, dtype=numpy.int64), numpy.full((1, self.k), -1)
        closing = numpy.vstack([none, every - 1])
        opening = numpy.zeros_like(closing)
        return Machine(
            moves=numpy.hstack([opening, closing]),
            accepts=numpy.arange(self.k + 1) == 0,
            change=numpy.zeros((2 * self.k, 0), dtype=numpy.int64),
            stack=True,
        )


@task("shuffle-k")
@dataclass(frozen=True)
class ShuffleK(_Kinds):
    """Words of k kinds of brackets, shuffled: each kind matches by itself, whatever is between."""

    def machine(self) -> Machine:
        """A counter for each kind."""
        either = "?" * self.k
        arrows = [f"{OPENING[: self.k]} 0 {either}"]
        for kind in range(self.k):
            condition = f"{either[:kind]}+{either[kind + 1 :]}"
            arrows.append(f"{CLOSING[kind]} 0 {condition}")
        one = numpy.eye(self.k, dtype=int).tolist()
        minus = (-numpy.eye(self.k, dtype=int)).tolist()
        return counting([arrows], ["0" * self.k], [*one, *minus], [0] * self.k, self.alphabet)
