"""Reguformer: only some queries attend, and only some keys are read (arXiv 2212.14246)."""

import math
from typing import Literal

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.remedies._base import Remedy, remedy, softmax
from lengthwise.remedies._keys import Keys, Shape

Selection = Literal[
    "topQ", "topK", "randQ", "randK", "topQ_topK", "topQ_randK", "randQ_topK", "randQ_randK"
]


@remedy("reguformer")
class Reguformer(Remedy):
    """Softmax of u = min(n, c ceil(log n)) chosen queries over all or u chosen keys; c = 5.

    topQ, after Informer (arXiv 2012.07436): every query meets u keys that are drawn for it, and
    those u queries are kept whose largest score exceeds the sum of the scores over n by most. topK
    is the same with roles swapped; if queries were chosen, a key meets all of those. randQ and
    randK draw. A query that is not kept gives out the mean of all values. u grows as log n only, so
    the share that attends falls with the length, and nothing else depends on it: beyond training,
    more and more tokens get the same mean. The choice looks at all tokens, so a causal model
    refuses it; the authors' masked form, which leaks that way, is not here.

    Corrected against the authors' code: with both chosen, results go to the rows of the chosen
    queries (there: to those of the keys' numbers); drawn numbers are distinct and any may be drawn
    (there: with repeats, and never the last); n counts tokens that are no padding. What is drawn is
    addressed by the step in training and the same in every pass outside it, and one draw serves the
    whole batch (there: drawn anew always, and randQ and randK per input).
    """

    ordered = True  # what is drawn are places
    causal = False
    sees_later = True

    key: Tensor
    step: Tensor

    def __init__(self, shape: Shape, *, select: Selection = "topQ", factor: int = 5) -> None:
        """Draw the key of all that will be drawn.

        Args:
            shape: All that it may be built for.
            select: Queries, keys or both, chosen by the rule or at random: see `Selection`.
            factor: The c of the formula.
        """
        super().__init__(shape)
        require(factor >= 1, "reguformer:factor", factor, "at least 1")
        self.queries, self.keys = (
            next((part[:-1] for part in select.split("_") if part.endswith(side)), None)
            for side in "QK"
        )
        self.factor = factor
        self.heads = shape.heads
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def weights(self, scores: Tensor, read: Keys) -> Tensor:
        """The softmax among what is chosen, and equal weights for the other queries."""
        stream = at(self.key, self.step if self.training else -1)
        if self.training:
            self.step.add_(1)
        places = scores.shape[-1]
        present = _present(read.log_count, places)
        count = present.sum(-1, keepdim=True)
        most = torch.minimum(count, (self.factor * count.double().log().ceil()).clamp(min=1).long())
        kept = self._chosen(self.queries, scores, present, most, at(stream, 0), None)
        by = kept if self.queries else None
        keys = self._chosen(self.keys, scores.mT, present, most, at(stream, 1), by)
        # A token that is padding sees itself alone, whatever is chosen.
        hidden = ~keys.unsqueeze(-2) & present.unsqueeze(-2) & present.unsqueeze(-1)
        chosen = softmax(scores.masked_fill(hidden, -torch.inf), read)
        equal = softmax(torch.zeros_like(scores), read)
        return torch.where((kept | ~present).unsqueeze(-1), chosen, equal)

    def _chosen(
        self,
        how: str | None,
        scores: Tensor,
        present: Tensor,
        most: Tensor,
        stream: Tensor,
        by: Tensor | None,
    ) -> Tensor:
        """Which rows of scores `(..., heads, rows, others)` are kept, `(..., heads, rows)`.

        Args:
            how: By what they are `top` or that they are drawn (`rand`); None keeps all.
            scores: What a row is judged by.
            present: Which are no padding, `(..., 1, rows)`.
            most: How many to keep, `(..., 1, 1)`.
            stream: Key of what is drawn.
            by: Which others a row meets; if not given, `most` are drawn for it.
        """
        rows = scores.shape[-2]
        if how is None:
            return present.expand(scores.shape[:-1])
        if how == "rand":
            heads = torch.arange(self.heads, device=scores.device)
            worth = bits(at(stream, heads), rows).double().expand(scores.shape[:-1])
        else:
            worth = self._sparsity(scores.detach(), present, most, stream, by)
        worth = worth.masked_fill(~present, -torch.inf)
        rank = worth.argsort(dim=-1, descending=True, stable=True).argsort(-1)
        return (rank < most) & present

    def _sparsity(
        self, scores: Tensor, present: Tensor, most: Tensor, stream: Tensor, by: Tensor | None
    ) -> Tensor:
        """How far a row's largest score exceeds the sum over n, among the others that it meets."""
        rows, others = scores.shape[-2:]
        if by is not None:
            met, meets = scores, by.unsqueeze(-2).expand(scores.shape)
        else:
            draws = min(others, max(1, self.factor * math.ceil(math.log(others))))
            words = bits(at(stream, torch.arange(rows, device=scores.device)), draws)
            # The number among those that are present, then the place where that one stands.
            number = below(words, present.sum(-1, keepdim=True).unsqueeze(-1))
            order = (~present).to(torch.int8).argsort(dim=-1, stable=True).unsqueeze(-2)
            place = order.expand(*number.shape[:-1], others).gather(-1, number)
            met = scores.gather(-1, place.expand(*scores.shape[:-1], draws))
            meets = torch.arange(draws, device=scores.device) < most.unsqueeze(-1)
        largest = met.masked_fill(~meets, -torch.inf).amax(-1)
        total = met.masked_fill(~meets, 0.0).sum(-1)
        return largest - total / present.sum(-1, keepdim=True)


def _present(log_count: Tensor, places: int) -> Tensor:
    """Which tokens are no padding, `(..., 1, places)`: those that another one sees."""
    seen = log_count.expand(*log_count.shape[:-2], places, places) > -torch.inf
    if places == 1:
        present = seen.any(-2)
    else:
        own = torch.eye(places, dtype=torch.bool, device=log_count.device)
        present = (seen & ~own).any(-2)
    return present if log_count.dim() > 2 else present.unsqueeze(-2)
