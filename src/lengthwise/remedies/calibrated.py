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
CROSS_DEVIATIONS = 4.5
"""The same in cross attention."""


class Diagonal(Remedy):
    """A bias per head and distance, one for all layers: `(heads, distances + 1)`.

    Distances beyond the table have its last entry. Keys after the query count by their distance. In
    cross attention distances have both signs, and keys are counted as the model says.
    """

    per_layer = False
    positional = True
    crosses = True

    def __init__(self, shape: Shape) -> None:
        """Note which distances there are."""
        super().__init__(shape)
        self.crossing = shape.crossing
        self.distances = 2 * shape.max_length - 1 if shape.crossing else shape.max_length

    @property
    def replaces(self) -> str:
        """The bias by position."""
        return "the bias by position"

    def places(self, distance: Tensor) -> Tensor:
        """Where distances stand in a table; those beyond it are at its end."""
        if not self.crossing:
            return distance.abs().clamp(max=self.distances)
        places = distance + self.distances // 2
        return places.masked_fill((places < 0) | (places > self.distances), self.distances)

    def looked_up(self, table: Tensor, read: Keys) -> Tensor:
        """The entries of a table, `(..., heads, queries, keys)`."""
        found = functional.embedding(self.places(read.distance), table.mT)
        return found.squeeze(-4).movedim(-1, -3)


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
        self.table = nn.Parameter(torch.zeros(shape.heads, self.distances))

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

    Cross attention has a bias of its own, made of the cross attention of the last layer, where 4.5
    deviations are the authors'; they align answers with the end of the prompt, which is the
    encoder-decoder's `counted=backward`. No sum of n can be more than sqrt(n - 1) deviations above
    the mean, so that 4.5 need more than 21 different ones: short inputs need a lower bar
    (`deviations`, and `cross_deviations` in cross attention).

    `bias=corrected` is the mean over all three inputs, and leaves queries alone that no kept
    diagonal reaches; `as-coded` reads the first input three times, as the public code does, and
    gives such queries -10^6 everywhere, which leaves little of their scores' precision. `random` is
    a control: as many diagonals with the same values at random distances, out of those that the
    inputs had. Three inputs and all numbers are the authors'. The causal mask stays in heads that
    keep nothing, where their code loses it, and no entry of cross attention is freed by hand.
    """

    from_run = True

    diagonals: Tensor

    def __init__(
        self,
        shape: Shape,
        *,
        bias: Literal["corrected", "as-coded", "random"] = "corrected",
        deviations: float = DEVIATIONS,
        cross_deviations: float = CROSS_DEVIATIONS,
    ) -> None:
        """Start without a bias, until `begun` knows it."""
        super().__init__(shape)
        self.kind = bias
        self.deviations = cross_deviations if shape.crossing else deviations
        self.register_buffer("diagonals", torch.zeros(shape.heads, self.distances + 1))

    def bias(self, read: Keys) -> Tensor:
        """The bias `(..., heads, queries, keys)`."""
        found = self.looked_up(self.diagonals, read)
        if self.kind == "as-coded":
            return found
        reached = (found > CUT) & (read.log_count > -torch.inf)
        return torch.where(reached.any(-1, keepdim=True), found, 0.0)

    def begun(self, weights: Tensor, distance: Tensor, key: Tensor) -> dict[str, Tensor]:
        """The bias out of the attention of a trained model.

        Args:
            weights: `(inputs, heads, queries, keys)`.
            distance: Position of the query minus that of the key, which broadcasts to `weights`.
            key: The random stream of diagonals that are kept at random.
        """
        if self.kind == "as-coded":
            weights, distance = weights[:1], distance[:1]
        most, longest = self.distances // (1 + self.crossing), int(distance.abs().max())
        expected = f"at most {most}, as this task has"
        require(longest <= most, "start_from: distance", longest, expected)
        places = self.places(distance).expand_as(weights).transpose(0, 1).flatten(1)
        sums = weights.new_zeros(weights.shape[1], self.distances + 1)
        sums.scatter_add_(1, places, weights.transpose(0, 1).flatten(1))
        sums /= len(weights)
        table = torch.full_like(sums, CUT)
        there = places.unique()  # distances that the inputs have
        for head, own in enumerate(sums):
            different = own[own != 0].unique()
            bar = different.mean() + self.deviations * different.std(correction=0)
            kept = there[own[there] >= bar]
            if not len(kept):
                table[head] = 0.0
                continue
            values = own[kept]
            if self.kind == "random":
                kept = there[bits(at(key, head), len(there)).sort(stable=True).indices[: len(kept)]]
            table[head, kept] = values
        return {"diagonals": table}
