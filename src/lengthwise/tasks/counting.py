"""Languages of arXiv 2009.11264 and 2410.02140 that are read with counters."""

from dataclasses import dataclass

from lengthwise.tasks._base import task
from lengthwise.tasks._languages import Language
from lengthwise.tasks._machines import Machine, counting


@task("anbn")
@dataclass(frozen=True)
class ANBN(Language):
    """a^n b^n, n >= 0: as many b as a. Words are over after the last b.

    The first b comes with chance r at every place, which makes n geometric. (With equally likely
    symbols r is 1/2, and no word is as long as those that 2410.02140 tests.)
    """

    alphabet = "ab"

    lasting: bool = True
    """Whether words hesitate before steps of no return, here the first b."""

    def machine(self) -> Machine:
        """A counter of b that are still to come."""
        return counting(
            [["a 0 ?", "b 1 +"], ["b 1 +"]], ["0", "0"], [[1], [-1]], [0], self.alphabet
        )


@task("anbncn")
@dataclass(frozen=True)
class ANBNCN(Language):
    """a^n b^n c^n, n >= 0: as many b and c as a. Words are over after the last c."""

    alphabet = "abc"

    lasting: bool = True
    """Whether words hesitate before steps of no return, here the first b."""

    def machine(self) -> Machine:
        """Counters of b and c that are still to come."""
        return counting(
            [["a 0 ??", "b 1 +?"], ["b 1 +?", "c 2 0?"], ["c 2 ?+"]],
            ["00", "", "?0"],
            [[1, 1], [-1, 0], [0, -1]],
            [0, 0],
            self.alphabet,
        )


@task("bool-3")
@dataclass(frozen=True)
class Bool3(Language):
    """Boolean expressions in prefix notation, operators first: ~ takes one, + two and > three.

    A word is over when no operand is missing. Missing operands are a random walk: of the five
    symbols, which are equally likely, two fill one and the operators ask for 0, 1 and 2 more. About
    half of all words are over soon, and the others never.
    """

    alphabet = "01~+>"

    def machine(self) -> Machine:
        """A counter of operands that are missing."""
        change = [[-1], [-1], [0], [1], [2]]
        return counting([["01~+> 0 +"]], ["0"], change, [1], self.alphabet)
