"""Measures of attention weights, a block of queries at a time: never N x N at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MEASURES = ("entropy", "effective_tokens", "largest_weight", "top_mass", "first_mass")
"""In nats; 1 / sum of squares; the largest; the k largest together; that of the first position."""

BLOCK_ELEMENTS = 1 << 18
"""How many scores are held at once: few enough to stay in a processor's cache."""

SHORT = 256
"""Rows of fewer weights are not worth folding."""

MASKED = -1e30
"""The score of a key that may not be seen. Finite, so that 0 * log 0 comes out as 0."""


@dataclass(frozen=True)
class Scoring:
    """How a layer turns queries and keys into scores, beyond their product."""

    scale: float
    causal: bool
    mask: Tensor | None = None
    """`(batch or 1, heads or 1, queries, keys)`: True where a key is seen, or numbers to add."""
    bias: Tensor | None = None
    """Numbers to add, of the same shape."""


def measure_weights(
    query: Tensor, key: Tensor, positions: Tensor, scoring: Scoring, top: int
) -> Tensor:
    """All `MEASURES` of the weights that the queries at some positions give to the keys.

    Args:
        query: `(batch, heads, length, width)`.
        key: `(batch, key heads, length, width)`; a key head serves a group of query heads.
        positions: Which queries, ascending.
        scoring: Scale, mask and bias.
        top: How many of the largest weights `top_mass` adds up.

    Returns:
        float32 of shape `(measures, batch, heads, positions)`; not a number for a query that sees
        no key at all.
    """
    batch, heads, _, _ = query.shape
    keys = key.shape[2]
    # A causal query sees no key after its own position: those products need not be made.
    seen = [position + 1 if scoring.causal else keys for position in positions.tolist()]
    results = torch.empty(len(MEASURES), batch, heads, len(seen), device=query.device)
    key = key.float()
    query = query[:, :, positions].float() * scoring.scale
    for start, stop in _blocks(seen, batch * heads):
        block, visible = query[:, :, start:stop], key[:, :, : seen[stop - 1]]
        scores = _scores(block, visible, positions[start:stop], scoring)
        results[..., start:stop] = _measures(scores, top)
    return results


def _blocks(seen: list[int], rows_per_query: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(seen):
        stop = start + 1
        while stop < len(seen) and (
            (stop + 1 - start) * rows_per_query * seen[stop] <= BLOCK_ELEMENTS
        ):
            stop += 1
        yield start, stop
        start = stop


def _scores(query: Tensor, key: Tensor, positions: Tensor, scoring: Scoring) -> Tensor:
    """Scores of scaled queries, which stand at `positions`."""
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    grouped = query.reshape(batch, key.shape[1], -1, width)
    scores = (grouped @ key.transpose(2, 3)).view(batch, heads, queries, keys)
    for extra in (scoring.mask, scoring.bias):
        if extra is None:
            continue
        extra = extra[..., positions, :keys]
        if extra.dtype == torch.bool:
            scores.masked_fill_(~extra, MASKED)
        else:
            scores = (scores + extra).clamp_(min=MASKED)
    if scoring.causal:
        first = int(positions[0]) + 1  # up to here every query of the block sees every key
        later = torch.arange(first, keys, device=key.device) > positions[:, None]
        scores[..., first:].add_(torch.where(later, MASKED, 0.0))
    return scores


def _measures(scores: Tensor, top: int) -> Tensor:
    peak = scores.amax(-1, keepdim=True)
    blind = peak.squeeze(-1) <= MASKED / 2
    scores.sub_(peak)
    weights = scores.softmax(-1)
    largest = weights.amax(-1)
    # The score of the largest weight is 0 now, so log a = s + log(largest).
    entropy = -largest.log() - torch.einsum("...k,...k->...", weights, scores)
    effective = torch.linalg.vector_norm(weights, dim=-1).pow(-2)
    measures = torch.stack((entropy, effective, largest, _top_sum(weights, top), weights[..., 0]))
    return measures.masked_fill_(blind, torch.nan)


def _top_sum(values: Tensor, top: int) -> Tensor:
    """The sum of the `top` largest values of each row.

    They all lie in the `top` columns whose maxima are largest, once a row is folded into columns:
    finding those first leaves far less to sort.
    """
    rows, width = values.shape[:-1], values.shape[-1]
    fold = round((width / top) ** 0.5)  # measured: about as much work before as after
    columns = width // max(fold, 1)
    if width < SHORT or columns <= top:
        return _largest(values, min(top, width)).sum(-1)
    folded = values[..., : fold * columns].unflatten(-1, (fold, columns))
    best = _places_of_largest(folded.amax(-2), top)
    chosen = folded.gather(-1, best.unsqueeze(-2).expand(*rows, fold, top)).flatten(-2)
    if fold * columns < width:
        chosen = torch.cat((chosen, values[..., fold * columns :]), -1)
    return _largest(chosen, top).sum(-1)


def _places_of_largest(values: Tensor, top: int) -> Tensor:
    """Where the `top` largest of each row are, in no order."""
    if values.device.type != "cpu":
        return values.topk(top, sorted=False).indices
    return torch.from_numpy(np.argpartition(values.numpy(), -top, axis=-1)[..., -top:])


def _largest(values: Tensor, top: int) -> Tensor:
    """The `top` largest of each row, in no order."""
    if values.device.type != "cpu":
        return values.topk(top, sorted=False).values
    # On a processor numpy selects several times faster than torch.
    return torch.from_numpy(np.partition(values.numpy(), -top, axis=-1)[..., -top:])
