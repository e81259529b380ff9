"""The set reader: one query reads a set of items (arXiv 2410.01104, 2504.02827)."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.models.attention import Attention, AttentionOutput, NormPlace
from lengthwise.remedies import NORMS, SCORES, Dropout, Softmax
from lengthwise.remedies.scores import DotProduct
from lengthwise.tasks import Question


class SetReader(nn.Module):
    """One query attends to N items, and an MLP names the answer. No positions.

        h_i = psi_x(x_i),  h_q = psi_q(q),  o = W_O sum_i a_i W_V h_i,  logits = phi(norm(o))

    psi_x, psi_q and phi are MLPs of two layers with GELU between them. The last layers of psi_x and
    psi_q have no bias terms: softmax does not see a constant in the keys, and a constant in the
    values is a feature of psi_x that is the same for every item (ours).

    Keys, values and even h_i are never formed: attention is linear in h_i, and h_i is linear in the
    hidden layer of psi_x, so all three matrices are folded into the query and into the one mix that
    attention takes. An item costs the first layer of psi_x and its GELU, nothing else.
    """

    def __init__(
        self,
        item_width: int,
        query_width: int,
        classes: int,
        *,
        width: int = 128,
        heads: int = 1,
        attention: str = "softmax",
        norm: str = "none",
        norm_place: NormPlace = "after",
        residual: bool = False,
        dropout_weights: float = 0.0,
        dropout_output: float = 0.0,
    ) -> None:
        """Build the model with PyTorch's own initialisation.

        Args:
            item_width: Number of features of an item.
            query_width: Number of features of the query.
            classes: Number of answers.
            width: Width of every layer.
            heads: Number of heads.
            attention: How items are scored, by the name in `lengthwise.remedies.SCORES`.
            norm: Norm after attention, by its name in `lengthwise.remedies.NORMS`.
            norm_place: "before" or "after" the output projection W_O.
            residual: Whether h_q is added to what attention gives out.
            dropout_weights: Dropout rate of the attention weights.
            dropout_output: Dropout rate of the attention output.
        """
        super().__init__()
        for field, value in (("width", width), ("heads", heads)):
            require(value >= 1, field, value, "at least 1")
        require(width % heads == 0, "width", width, f"a multiple of heads = {heads}")
        require_name(attention, SCORES, "attention")
        require_name(norm, NORMS, "norm")
        require_name(norm_place, ("before", "after"), "norm_place")
        self.residual = residual
        self.item_encoder = nn.Linear(item_width, width)
        self.item_lift = nn.Linear(width, width, bias=False)
        self.query_encoder = nn.Linear(query_width, width)
        self.query_lift = nn.Linear(width, width, bias=False)
        self.attention = Attention(
            width,
            heads=heads,
            score=SCORES[attention](),
            norm=NORMS[norm](width, heads),
            norm_place=norm_place,
            dropout_weights=Dropout(dropout_weights, "dropout_weights"),
            dropout_output=Dropout(dropout_output, "dropout_output"),
        )
        self.answer = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, classes))

    def forward(self, question: Question) -> Tensor:
        """Logits `(batch, classes)`."""
        encoded, folded = self._ask(question.query)
        features = self._features(question.items)
        if self._plain():
            mixed, _ = SoftmaxRead.apply(features, folded)
        else:
            scores = self._scores(folded, features, features.shape[-2])
            weights = self.attention.weigh(scores, scores.new_zeros(()))
            mixed = self.attention.dropout_weights(weights) @ features
        return self._answer(encoded, mixed)[0]

    def read(self, query: Tensor, length: int, parts: Callable[[], Iterable[Tensor]]) -> "ReadOut":
        """Read a set in parts, so that memory stays bounded at any number of items.

        Softmax is kept running from part to part. Weights that need all scores at once (any other
        `weigh`) read the parts a second time.

        Args:
            query: `(batch, query features)`.
            length: Number of items of all parts together.
            parts: Gives the items, `(batch, some, item features)`, part by part.
        """
        encoded, folded = self._ask(query)
        running = isinstance(self.attention.weigh, Softmax)
        top = folded.new_full((*folded.shape[:-1], 1), -torch.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(folded)
        pieces = []
        for items in parts():
            features = self._features(items)
            scores = self._scores(folded, features, length)
            pieces.append(scores)
            if running:
                higher = torch.maximum(top, scores.amax(-1, keepdim=True))
                shrunk, weights = (top - higher).exp(), (scores - higher).exp()
                total = total * shrunk + weights.sum(-1, keepdim=True)
                mixed = mixed * shrunk + weights @ features
                top = higher
        scores = torch.cat(pieces, -1)
        weights = self.attention.weigh(scores, scores.new_zeros(()))
        if running:
            mixed = mixed / total
        else:
            sizes = [piece.shape[-1] for piece in pieces]
            for items, share in zip(parts(), weights.split(sizes, -1), strict=True):
                mixed = mixed + share @ self._features(items)
        logits, attended = self._answer(encoded, mixed)
        return ReadOut(logits, weights, attended.before_norm, attended.after_norm)

    def _plain(self) -> bool:
        """Whether attention is softmax of dot products and nothing else."""
        attention = self.attention
        return (
            isinstance(attention.score, DotProduct)
            and isinstance(attention.weigh, Softmax)
            and not (self.training and attention.dropout_weights.active)
        )

    def _ask(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """The encoded query, `(batch, width)`, and what it compares: `(batch, heads, features)`."""
        encoded = self.query_lift(functional.gelu(self.query_encoder(query)))
        folded = self.attention.fold(encoded.unsqueeze(-2), self.item_lift.weight)
        return encoded, folded.squeeze(-2)

    def _features(self, items: Tensor) -> Tensor:
        """The hidden layer of psi_x: all that is ever computed per item."""
        # One large matrix product with the bias as a column of it: in a fleet, adding the bias
        # would take as long as the product.
        rows = functional.pad(items.flatten(0, 1), (0, 1), value=1.0)
        encoder = self.item_encoder
        hidden = rows @ torch.cat([encoder.weight, encoder.bias.unsqueeze(1)], 1).T
        return functional.gelu(hidden).unflatten(0, items.shape[:2])

    def _scores(self, folded: Tensor, features: Tensor, length: int) -> Tensor:
        """Scores `(batch, heads, items)`: heads compare the same features, as queries would."""
        count = folded.new_tensor(float(length)) if self.attention.score.needs_count else None
        scores: Tensor = self.attention.score(folded, features, count)
        return scores

    def _answer(self, encoded: Tensor, mixed: Tensor) -> tuple[Tensor, AttentionOutput]:
        """Logits out of the mix of features, `(batch, heads, features)`."""
        values = self.attention.unfold(mixed.unsqueeze(-2), self.item_lift.weight)
        attended = self.attention.finish(values.squeeze(-2))
        output = attended.output + encoded if self.residual else attended.output
        return self.answer(output), attended


class SoftmaxRead(torch.autograd.Function):
    """Softmax attention over features that are keys and values in one.

    The features' two gradients, as keys and as values, are one matrix product here; left to
    autograd they are two and their sum, which took a quarter of a training step.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(features: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """The mix and the weights of features `(..., items, width)`, `(..., queries, width)`."""
        weights = (queries @ features.mT).softmax(-1)
        return weights @ features, weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the gradient needs."""
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, mixed: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of features and queries out of that of the mix."""
        features, queries, weights = ctx.saved_tensors
        by_weight = mixed @ features.mT
        scores = weights * (by_weight - (weights * by_weight).sum(-1, keepdim=True))
        as_both = torch.cat([weights, scores], -2).mT @ torch.cat([mixed, queries], -2)
        return as_both, scores @ features


class ReadOut(NamedTuple):
    """An answer with what attention did for it."""

    logits: Tensor
    """`(batch, classes)`."""
    weights: Tensor
    """`(batch, heads, items)`."""
    before_norm: Tensor
    """The attention output before the norm, `(batch, width)`."""
    after_norm: Tensor
    """The attention output after the norm, `(batch, width)`."""
