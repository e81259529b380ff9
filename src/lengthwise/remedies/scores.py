"""What can stand in attention's `score` slot: queries and keys in, scores out."""

from torch import Tensor, nn


class DotProduct(nn.Module):
    """The usual score, q . k / sqrt(key width)."""

    needs_visible = False

    def forward(self, queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
        """Scores `(..., queries, keys)`."""
        return queries @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5


class Constant(nn.Module):
    """Every score is zero, so every visible key gets the same weight: the theorem's attention."""

    needs_visible = False

    def forward(self, queries: Tensor, keys: Tensor, visible: Tensor | None) -> Tensor:
        """Zeros `(..., queries, keys)`."""
        shape = (*queries.shape[:-1], keys.shape[-2])
        return queries.new_zeros(()).expand(shape)


SCORES = {"softmax": DotProduct, "constant": Constant}
