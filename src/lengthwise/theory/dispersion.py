"""Why attention blurs: bounds on every softmax weight (arXiv 2410.01104, Lemma 2.1)."""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.models import Attention


def weight_bounds(
    spread: float | Tensor, count: int, temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """The least and the greatest weight that softmax can give to one of `count` scores.

    With r = exp(spread / temperature) they are 1 / (1 + (n - 1) r) and r / (r + n - 1), and both
    are attained. The lemma's own, 1 / (n r) and r / n, are a little wider and follow from them.

    Args:
        spread: Largest minus smallest score.
        count: Number of scores n.
        temperature: What scores are divided by before softmax.

    Raises:
        InputError: `spread` is negative, `count` below 1, or `temperature` not positive.
    """
    spread = torch.as_tensor(spread, dtype=torch.float64)
    require(bool((spread >= 0).all()), "spread", spread.tolist(), "a number of at least 0")
    require(count >= 1, "count", count, "at least 1")
    require(temperature > 0, "temperature", temperature, "a positive number")
    others = torch.tensor(float(count - 1), dtype=torch.float64).log()
    reach = spread / temperature
    return torch.sigmoid(-others - reach), torch.sigmoid(reach - others)


def spread_bound(query_weight: Tensor, key_weight: Tensor, query: Tensor, keys: Tensor) -> Tensor:
    """A bound on the spread of a query's scores: 2 |W_q| |W_k| |query| max |key| / sqrt(width).

    Args:
        query_weight: `(key width, width)`, as in `torch.nn.Linear`.
        key_weight: Likewise.
        query: What the query is made of, `(..., width)`.
        keys: What the keys are made of, `(..., keys, width)`.

    Returns:
        `(...)`.
    """
    norms = torch.linalg.matrix_norm(query_weight, 2) * torch.linalg.matrix_norm(key_weight, 2)
    reach = query.norm(dim=-1) * keys.norm(dim=-1).amax(-1)
    bound: Tensor = 2 * norms * reach * query_weight.shape[0] ** -0.5
    return bound


def attention_bounds(attention: Attention, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds on every weight of an attention layer, from its matrices and the sizes of its inputs.

    No score is computed: spectral norms bound the spread, and the spread bounds the weights.

    Args:
        attention: Softmax over dot products, without positions.
        x: `(..., queries, width)`.
        context: `(..., keys, width)`, all visible.

    Returns:
        The least and the greatest weight, each `(..., heads, queries)`.

    Raises:
        InputError: A remedy acts on the scores or weights, so the bounds would not hold.
    """
    plain = attention.maps == 1 and not attention.acts(
        "queries_keys", "scale", "bias", "scores", "weights"
    )
    require(plain, "attention", attention, "softmax over dot products, without positions")
    spreads = [
        spread_bound(query_weight, key_weight, x, context.unsqueeze(-3))
        for query_weight, key_weight in zip(
            attention.query.weight.chunk(attention.heads),
            attention.key.weight.chunk(attention.heads),
            strict=True,
        )
    ]
    return weight_bounds(torch.stack(spreads, dim=-2).detach(), context.shape[-2])
