"""Measures of attention weights, a block of queries at a time: never N x N at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from torch import Tensor

MEASURES = ("entropy", "effective_tokens", "largest_weight", "top_mass", "first_mass")
"""In nats; 1 / sum of squares; the largest; the k largest together; that of the first position."""

BLOCK_ELEMENTS = 1 << 18
"""How many scores are held at once: few enough to stay in a core's second cache."""

SHORT = 256
"""Rows of fewer numbers are not worth folding."""

COLUMNS = 32
"""Folded rows have a multiple of so many columns: their maxima take a third of the time."""

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
    blocks = list(_blocks(seen, batch * heads))
    # Blocks share memory: to be given fresh pages for each would take as long as the products.
    sizes = (batch * heads * (stop - start) * seen[stop - 1] for start, stop in blocks)
    space = query.new_empty(max(sizes, default=0))
    for start, stop in blocks:
        block, visible = query[:, :, start:stop], key[:, :, : seen[stop - 1]]
        scores = _scores(block, visible, positions[start:stop], scoring, space)
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


def _scores(
    query: Tensor, key: Tensor, positions: Tensor, scoring: Scoring, space: Tensor
) -> Tensor:
    """Scores of scaled queries, which stand at `positions`; `space` is overwritten."""
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    grouped = query.reshape(batch, key.shape[1], -1, width)
    scores = space[: batch * heads * queries * keys].view(*grouped.shape[:-1], keys)
    torch.matmul(grouped, key.transpose(2, 3), out=scores)
    scores = scores.view(batch, heads, queries, keys)
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
    """All measures of the weights, for every row of scores, which are overwritten."""
    best = _top(scores, top)
    if scores.device.type == "cpu":
        # What compiles code takes a while to load.
        from lengthwise.probing.rows import measure_rows

        measures = scores.new_empty(len(MEASURES), *scores.shape[:-1])
        measure_rows(scores.flatten(0, -2), best.flatten(0, -2), MASKED / 2, measures.flatten(1))
        return measures
    return _measures_anywhere(scores, best)


def _measures_anywhere(scores: Tensor, best: Tensor) -> Tensor:
    """The same on any device, in operations of torch."""
    peak = best.amax(-1, keepdim=True)
    scores.sub_(peak)
    total = scores.logsumexp(-1, keepdim=True)
    weights = (scores - total).exp_()
    # The score of the largest weight is 0 now, so log a = s - log of the sum.
    entropy = total.squeeze(-1) - torch.linalg.vecdot(weights, scores)
    effective = torch.linalg.vector_norm(weights, dim=-1).pow(-2)
    shares = (best - peak - total).exp_()
    measures = torch.stack((entropy, effective, shares.amax(-1), shares.sum(-1), weights[..., 0]))
    return measures.masked_fill_(peak.squeeze(-1) <= MASKED / 2, torch.nan)


def _top(values: Tensor, top: int) -> Tensor:
    """The `top` largest values of each row, or all if there are fewer, in no order.

    They all lie in the `top` columns whose maxima are largest, once a row is folded into columns:
    finding those first leaves far less to sort.
    """
    rows, width = values.shape[:-1], values.shape[-1]
    # Measured from 300 to 4096 values: four columns for each value wanted, in whole vectors.
    columns = COLUMNS * ceil(4 * top / COLUMNS)
    fold = width // columns
    if width < SHORT or fold < 2:
        return _largest(values, min(top, width))
    folded = values[..., : fold * columns].unflatten(-1, (fold, columns))
    best = _places_of_largest(folded.amax(-2), top)
    chosen = folded.gather(-1, best.unsqueeze(-2).expand(*rows, fold, top)).flatten(-2)
    if fold * columns < width:
        chosen = torch.cat((chosen, values[..., fold * columns :]), -1)
    return _largest(chosen, top)


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
