"""Attention bias calibration (arXiv 2310.11984), and a bias over diagonals that is learned."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, bits
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape

CUT = -1e6
"""What cut diagonals get, as in the authors' code."""
DEVIATIONS = 0.87
"""How many standard deviations above the mean a diagonal must be to be kept."""


class Diagonal(Remedy):
    """A bias per head and distance, one for all layers: `(heads, distances + 1)`.

    Distances beyond the table have its last entry. Keys after the query count by their distance.
    """

    per_layer = False
    positional = True

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def looked_up(self, table: Tensor, read: Keys) -> Tensor:
        """The entries of a table, `(..., heads, queries, keys)`."""
        places = read.distance.abs().clamp(max=table.shape[-1] - 1)
        return functional.embedding(places, table.mT).squeeze(-4).movedim(-1, -3)


@remedy("diagonal")
class LearnedDiagonal(Diagonal):
    """A learned bias per head and distance, without buckets; a control for arXiv 2310.11984.

    b(i, j) = r[i - j], one table for all layers, which begins at 0. Distances that training never
    reached keep their 0, and those beyond the task's longest input have it too. It is `t5` with a
    bucket for every distance (ours), and what `calibrated` would be if it were learned.
    """

    def __init__(self, shape: Shape) -> None:
        """Start without a bias."""
        super().__init__(shape)
        self.table = nn.Parameter(torch.zeros(shape.heads, shape.max_length))

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        return self.looked_up(functional.pad(self.table, (0, 1)), read)


@remedy("calibrated")
class Calibrated(Diagonal):
    """A bias over diagonals read off a trained model's attention, then fixed (arXiv 2310.11984).

    With A_h the attention of head h in the last layer of another run's model, on three inputs of
    its longest training length, S_h(D) = sum of A_h[i, i - D] over i. With mean and deviation over
    the different sums that are not 0, a diagonal is kept if S >= mean + 0.87 deviations, and then
    has the bias S (not 0); all others have -10^6, those beyond the inputs included. A head that
    keeps none has no bias. The bias of head h is added in all layers of a model that is trained
    anew: with this remedy, a run takes the bias from `start_from` and no weights. At any length a
    query then sees the same few distances.

    `bias=corrected` is the mean over all three inputs, and leaves queries alone that no kept
    diagonal reaches; `as-coded` reads the first input three times, as the public code does, and
    gives such queries -10^6 everywhere, which leaves little of their scores' precision. `random` is
    a control: as many diagonals with the same values at random distances. Three inputs and all
    numbers are the authors'. It is not their bias of cross attention, and the causal mask stays in
    heads that keep nothing, where their code loses it.
    """

    from_run = True

    diagonals: Tensor

    def __init__(
        self, shape: Shape, *, bias: Literal["corrected", "as-coded", "random"] = "corrected"
    ) -> None:
        """Start without a bias, until `begun` knows it."""
        super().__init__(shape)
        self.kind = bias
        self.register_buffer("diagonals", torch.zeros(shape.heads, shape.max_length + 1))

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        found = self.looked_up(self.diagonals, read)
        if self.kind == "as-coded":
            return found
        reached = (found > CUT) & (read.log_count > -torch.inf)
        return torch.where(reached.any(-1, keepdim=True), found, 0.0)

    def begun(self, weights: Tensor, key: Tensor) -> dict[str, Tensor]:
        """The bias out of the attention of a trained model.

        Args:
            weights: `(inputs, heads, length, length)`.
            key: The random stream of diagonals that are kept at random.
        """
        chosen = weights[0] if self.kind == "as-coded" else weights.mean(0)
        length, most = chosen.shape[-1], self.diagonals.shape[-1] - 1
        require(length <= most, "start_from: length", length, f"at most {most}, as this task has")
        lines = [chosen.diagonal(-apart, -2, -1).sum(-1) for apart in range(length)]
        sums = torch.stack(lines, -1)
        table = sums.new_full((len(sums), self.diagonals.shape[-1]), CUT)
        for head, own in enumerate(sums):
            different = own[own != 0].unique()
            kept = own >= different.mean() + DEVIATIONS * different.std(correction=0)
            places = kept.nonzero().squeeze(-1)
            if not len(places):
                table[head] = 0.0
                continue
            values = own[places]
            if self.kind == "random":
                places = bits(at(key, head), length).sort(stable=True).indices[: len(places)]
            table[head, places] = values
        return {"diagonals": table}
