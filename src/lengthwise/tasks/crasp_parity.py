"""Whether the number of ones is even or odd, answered in a token of its own."""

from dataclasses import dataclass

from torch import Tensor

from lengthwise.randomness import at
from lengthwise.tasks._base import task
from lengthwise.tasks._symbols import SymbolTask, any_number, every_string, uniform, with_ones


@task("crasp-parity")
@dataclass(frozen=True)
class CraspParity(SymbolTask):
    """A string of 0 and 1, and whether its number of ones is even (e) or odd (o).

    Every number of ones is equally likely (arXiv 2410.02140), which makes strings of nearly equal
    symbols frequent and the task easier than with independent bits.
    """

    names = ("0", "1", "e", "o")

    iid: bool = False
    """Whether bits are independent and equally likely, in place of their number."""

    def answer_size(self, length: int) -> int:
        """One symbol."""
        return 1

    def strings(self, example: Tensor, length: int) -> Tensor:
        """Bits, drawn one by one or by their number."""
        if self.iid:
            return uniform(at(example, 1), length, 2)
        return with_ones(at(example, 1), length, any_number(example, length))

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All strings, if bits are independent."""
        return every_string(2, length, limit) if self.iid else None

    def answer(self, strings: Tensor) -> Tensor:
        """Even or odd."""
        return 2 + strings.sum(-1, keepdim=True) % 2
