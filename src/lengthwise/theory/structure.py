"""The structure lemma behind Theorem 4.2: what equal legal logits at lengths 1 and 2 force."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.theory.tables import Tables

Grade = Literal["B1", "B2", "B3", "none"]


@dataclass(frozen=True)
class Structure:
    """The form of (B, D) that the lemma asks for, with its letters; every field is `(vocab,)`.

    D = kappa 1' - 2 diag(x) + 1 w'   and   B = p 1' - diag(delta - 2x) - 1 w'

    where 1 is the column of ones and ' transposes. For v >= 4, legal logits are equal at lengths 1
    and 2 if and only if B and D have this form; they are then equal at every length.
    """

    x: Tensor
    """Displacement of a token as the first of two: how far its logit lies below the legal ones."""
    delta: Tensor
    """Displacement of a token that stands alone."""
    kappa: Tensor
    """What D adds to all logits after a token, by the token read."""
    w: Tensor
    """What D adds to each logit and B takes off again."""
    p: Tensor
    """What B adds to all logits, by the last token."""

    def matrices(self) -> tuple[Tensor, Tensor]:
        """B and D of this form."""
        bias = self.p.unsqueeze(1) - torch.diag(self.delta - 2 * self.x) - self.w
        displacement = self.kappa.unsqueeze(1) - 2 * torch.diag(self.x) + self.w
        return bias, displacement

    def displacements(self, length: int) -> tuple[Tensor, Tensor]:
        """Displacement of every token in an input of `length`: as an earlier one, as the last.

        Args:
            length: From 1 to one less than the vocabulary.

        Raises:
            InputError: No input has this length.
        """
        vocab = len(self.x)
        require(0 < length < vocab, "length", length, f"one of 1..{vocab - 1}")
        shared = 2 / length * self.x
        return shared, shared + self.delta - 2 * self.x

    @property
    def strength(self) -> float:
        """The largest C for which there is precision C at lengths 1 and 2."""
        return float(torch.cat([self.delta, self.x, self.delta - self.x]).min())

    def balance(self, tolerance: float = 1e-9) -> Grade:
        """The strictest grade of balance that holds up to `tolerance` times the largest |x|.

        B1: both tokens of every input of length 2 have the same displacement. B2: delta = 2x.
        B3: delta >= 2x. Each implies the next, and each gives precision 2C/s.

        Args:
            tolerance: What counts as equal.
        """
        allowed = tolerance * float(self.x.abs().max())
        gap = self.delta - 2 * self.x
        if float(gap.min()) < -allowed:
            return "none"
        if float(gap.max()) > allowed:
            return "B3"
        return "B2" if float(self.x.max() - self.x.min()) > allowed else "B1"

    def keeps_rate(self, length: int, tolerance: float = 1e-9) -> bool:
        """The exact condition for precision 2C/s at length s, with C the `strength`.

        Args:
            length: The length s.
            tolerance: What counts as equal.
        """
        _, last = self.displacements(length)
        allowed = tolerance * float(self.x.abs().max())
        return bool((last >= 2 / length * self.strength - allowed).all())


@dataclass(frozen=True)
class Fit:
    """The structure nearest to a model's tables."""

    structure: Structure
    """The structure that fits best."""
    distance: float
    """What the structure leaves unexplained: the Frobenius norm of the rest over that of B and D.

    A constant added to a row changes no answer, so row means are taken out first. From 0 to 1.
    """


def fit_structure(tables: Tables) -> Fit:
    """The least-squares fit of the lemma's form to B and D together.

    x and delta take up the diagonals whatever they are, so the other parameters are fitted to the
    entries off the diagonal.

    Args:
        tables: B and D of a model: see `read_tables`.

    Raises:
        InputError: The vocabulary is below 4, where the lemma does not hold.
    """
    vocab = tables.vocab
    require(vocab >= 4, "vocab", vocab, "at least 4: the lemma does not hold below")
    row, column = (~torch.eye(vocab, dtype=torch.bool)).nonzero(as_tuple=True)
    ones = torch.eye(vocab, dtype=torch.float64)
    zeros = torch.zeros_like(ones)
    # One equation per entry off the diagonal; the unknowns are kappa, w and p, one after another.
    equations = torch.cat(
        [
            torch.cat([ones[row], ones[column], zeros[row]], dim=1),
            torch.cat([zeros[row], -ones[column], ones[row]], dim=1),
        ]
    )
    values = torch.cat([tables.displacement[row, column], tables.bias[row, column]])
    # A constant can move between the three without a change: gelsd takes the smallest solution.
    solution = torch.linalg.lstsq(equations, values.unsqueeze(1), driver="gelsd").solution
    kappa, w, p = solution.squeeze(1).chunk(3)
    x = (kappa + w - tables.displacement.diagonal()) / 2
    delta = p - w - tables.bias.diagonal() + 2 * x
    structure = Structure(x, delta, kappa, w, p)
    both = torch.cat([tables.bias, tables.displacement])
    rest = torch.cat(structure.matrices()) - both
    centred = both - both.mean(1, keepdim=True)
    return Fit(structure, float(rest.norm() / centred.norm().clamp(min=1e-300)))
