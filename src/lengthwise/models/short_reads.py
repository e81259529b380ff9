"""Softmax attention over few keys, head by head in a core's nearest cache.

Models of a comparison read ten to twenty tokens. Scores of so few keys are too short for torch's
softmax, which needed as much time for them as for five times as many, and under `vmap` there is no
kernel that does all of attention at once. Here a head is read in one go: scores, weights and mix
never leave the cache, and rows are filled up to what registers hold.
"""

from functools import partial
from typing import Any

import torch
from llvmlite import ir
from numba import float32, int32
from numba.extending import intrinsic
from numpy import float32 as single
from numpy import inf, nan, zeros
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from lengthwise.compiled import compiled
from lengthwise.errors import require
from lengthwise.models.side_by_side import of_all, outside
from lengthwise.operations import fill

Singles = NDArray[single]

LANES = 8
"""Numbers to which rows are filled up: what a register holds."""


def read_short(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float = 1.0
) -> Tensor:
    """What `scaled_dot_product_attention` gives, under `vmap`, for tensors that are `fast`.

    Args:
        queries: `(batch, heads, queries, width)`.
        keys: `(batch, heads, keys, width)`.
        values: `(batch, heads, keys, value width)`.
        mask: Added to the scores; it broadcasts to `(batch, heads, queries, keys)`. Every query
            sees a key.
        scale: A factor of the products.

    Returns:
        `(batch, heads, queries, value width)`, which lies in memory token by token.
    """
    # Compiled code asks no bounds: what is the same for all queries or keys is written out.
    mask = mask.expand(*mask.shape[:-2], queries.shape[-2], keys.shape[-2])
    mask = mask.mT.reshape((1,) * (4 - mask.dim()) + mask.mT.shape)
    mask = functional.pad(mask, (0, -mask.shape[-1] % LANES))
    # Projections give token by token: read so, nothing is copied.
    rows = [one.transpose(-2, -3) for one in (queries, keys, values)]
    return outside(partial(_read_all, scale), *rows, mask).transpose(-2, -3)


def _read_all(scale: float, *tensors: Tensor) -> Tensor:
    *rows, mask = tensors
    mixed: Tensor = ShortRead.apply(scale, *of_all(*rows), mask)
    return mixed


class ShortRead(torch.autograd.Function):
    """`read_short` token by token, for models side by side.

    All tensors have an axis for models in front; that of the mask may be 1. Weights and mask have
    queries in columns, which are filled up.
    """

    @staticmethod
    def forward(
        ctx: Any, scale: float, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        """The mix."""
        models, batch, asked, heads, _ = queries.shape
        _require_shapes(queries, keys, values, mask)
        mixed = queries.new_empty((models, batch, asked, heads, values.shape[-1]))
        weights = queries.new_empty((models, batch, heads, *mask.shape[-2:]))
        fill(_fill_read, (queries, keys, values, mask), (mixed, weights), scale)
        ctx.save_for_backward(queries, keys, values, weights)
        ctx.mask_shape, ctx.scale = mask.shape, scale
        return mixed

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, mixed: Tensor) -> tuple[None, Tensor, Tensor, Tensor, Tensor | None]:
        """The gradients of all four tensors, of the mask where it is asked for."""
        queries, keys, values, weights = ctx.saved_tensors
        found = [
            torch.empty_like(one, memory_format=torch.contiguous_format)
            for one in (queries, keys, values)
        ]
        wanted = ctx.needs_input_grad[4]
        by_mask = queries.new_zeros(ctx.mask_shape if wanted else (1,) * queries.dim())
        given = (queries, keys, values, weights, mixed)
        fill(_fill_gradients, given, (*found, by_mask), ctx.scale, wanted)
        return None, found[0], found[1], found[2], by_mask if wanted else None


def _require_shapes(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> None:
    """Refuse what compiled code, which asks no bounds, would read or write beyond."""
    models, batch, asked, heads, width = queries.shape
    count = keys.shape[2]
    right = keys.shape == (models, batch, count, heads, width)
    right &= values.shape[:-1] == (models, batch, count, heads)
    right &= mask.shape[-2:] == (count, -(-asked // LANES) * LANES)
    right &= all(
        own in (1, whole) for own, whole in zip(mask.shape, (models, batch, heads), strict=False)
    )
    shapes = [tuple(one.shape) for one in (queries, keys, values, mask)]
    require(right, "shapes of queries, keys, values and mask", shapes, "ones that fit together")


def _fill_read(*tensors_scale: Any) -> None:
    *tensors, scale = tensors_scale
    _read(single(scale), *_arrays(*tensors))


def _fill_gradients(*tensors_scale_wanted: Any) -> None:
    *tensors, scale, wanted = tensors_scale_wanted
    _read_backward(single(scale), bool(wanted), *_arrays(*tensors))


def _arrays(*tensors: Tensor) -> list[Singles]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


@intrinsic
def _float_of_bits(context: Any, word: Any) -> Any:
    """The float32 whose bits these are."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return float32(int32), code


@partial(compiled, rounded_once=True)
def _exp(x: Any) -> Any:
    """exp(x) in float32 for x <= 0, to about a unit in the last place; from -87 on exp(-87)."""
    x = max(x, single(-87.0))
    power = int32(x * single(1.44269504) - single(0.5))
    whole = single(power)
    # ln 2 in two numbers, the first of which has few enough bits to be multiplied exactly.
    rest = (x - whole * single(0.693359375)) + whole * single(2.12194440e-4)
    series = single(1.0 / 720) * rest + single(1.0 / 120)
    series = series * rest + single(1.0 / 24)
    series = series * rest + single(1.0 / 6)
    series = series * rest + single(0.5)
    series = series * rest + single(1.0)
    series = series * rest + single(1.0)
    return series * _float_of_bits((power + int32(127)) << int32(23))  # type: ignore[call-arg]


@partial(compiled, in_any_order=True)
def _products(left: Singles, right: Singles, total: Singles) -> None:
    """Total = left @ right, where the rows of `total` and `right` are filled up.

    Four rows of `left` meet four rows of `right` at a time: sixteen products for eight loads.
    """
    rows, inner, width = left.shape[0], left.shape[1], right.shape[1]
    all_rows, all_inner = rows // 4 * 4, inner // 4 * 4
    total[:] = single(0.0)
    for row in range(0, all_rows, 4):
        out0, out1, out2, out3 = total[row], total[row + 1], total[row + 2], total[row + 3]
        for k in range(0, all_inner, 4):
            in0, in1, in2, in3 = right[k], right[k + 1], right[k + 2], right[k + 3]
            a0, a1, a2, a3 = left[row, k], left[row, k + 1], left[row, k + 2], left[row, k + 3]
            row1, row2, row3 = row + 1, row + 2, row + 3
            b0, b1, b2, b3 = left[row1, k], left[row1, k + 1], left[row1, k + 2], left[row1, k + 3]
            c0, c1, c2, c3 = left[row2, k], left[row2, k + 1], left[row2, k + 2], left[row2, k + 3]
            d0, d1, d2, d3 = left[row3, k], left[row3, k + 1], left[row3, k + 2], left[row3, k + 3]
            for i in range(width):
                x0, x1, x2, x3 = in0[i], in1[i], in2[i], in3[i]
                out0[i] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                out1[i] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                out2[i] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                out3[i] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
        for k in range(all_inner, inner):
            in0 = right[k]
            a0, b0, c0, d0 = left[row, k], left[row + 1, k], left[row + 2, k], left[row + 3, k]
            for i in range(width):
                out0[i] += a0 * in0[i]
                out1[i] += b0 * in0[i]
                out2[i] += c0 * in0[i]
                out3[i] += d0 * in0[i]
    for row in range(all_rows, rows):
        out0 = total[row]
        for k in range(inner):
            a0, in0 = left[row, k], right[k]
            for i in range(width):
                out0[i] += a0 * in0[i]


@partial(compiled, in_any_order=True)
def _filled(rows: int, width: int) -> Singles:
    """Zeros, with rows as long as whole registers."""
    return zeros((rows, -(-width // LANES) * LANES), single)


@partial(compiled, in_any_order=True)
def _weighted(scores: Singles, mask: Singles, scale: Any, spare: Singles) -> None:
    """Scores become the softmax over their rows of `scores` times `scale` plus `mask`.

    Queries are columns: the sums over keys then need no sum within a register.
    """
    top, total, control = spare[0], spare[1], spare[2]
    keys, width = scores.shape
    top[:], total[:], control[:] = single(-inf), single(0.0), single(0.0)
    for key in range(keys):
        row, hides = scores[key], mask[key]
        for query in range(width):
            score = row[query] * scale + hides[query]
            row[query] = score
            top[query] = score if score > top[query] else top[query]
            control[query] += score if score != single(-inf) else single(0.0)
    for key in range(keys):
        row = scores[key]
        for query in range(width):
            share = _exp(row[query] - top[query])
            share = share if row[query] != single(-inf) else single(0.0)
            row[query] = share
            total[query] += share
    for query in range(width):
        # What is not a number must stay so: it tells that a model diverged.
        whole = control[query] - control[query] == single(0.0)
        total[query] = single(1.0) / total[query] if whole else single(nan)
    for key in range(keys):
        row = scores[key]
        for query in range(width):
            row[query] *= total[query]


@partial(compiled, in_any_order=True)
def _read(
    scale: Any,
    queries: Singles,
    keys: Singles,
    values: Singles,
    mask: Singles,
    mixed: Singles,
    weights: Singles,
) -> None:
    """Fill in `mixed` and `weights`."""
    models, batch, asked, heads, width = queries.shape
    count, value_width = keys.shape[2], values.shape[4]
    of_models, of_batch, of_heads = mask.shape[:3]
    across, spare = _filled(width, asked), _filled(3, asked)
    own, mix = _filled(count, value_width), _filled(asked, value_width)
    for model in range(models):
        for one in range(batch):
            for head in range(heads):
                for query in range(asked):
                    for place in range(width):
                        across[place, query] = queries[model, one, query, head, place]
                for key in range(count):
                    for place in range(value_width):
                        own[key, place] = values[model, one, key, head, place]
                scores = weights[model, one, head]
                _products(keys[model, one, :, head], across, scores)
                hides = mask[model % of_models, one % of_batch, head % of_heads]
                _weighted(scores, hides, scale, spare)
                _products(scores[:, :asked].T, own, mix)
                for query in range(asked):
                    for place in range(value_width):
                        mixed[model, one, query, head, place] = mix[query, place]


@partial(compiled, in_any_order=True)
def _read_backward(
    scale: Any,
    wanted: bool,
    queries: Singles,
    keys: Singles,
    values: Singles,
    weights: Singles,
    by_mixed: Singles,
    by_queries: Singles,
    by_keys: Singles,
    by_values: Singles,
    by_mask: Singles,
) -> None:
    """Fill in the gradients out of `by_mixed`, that of the mix; add to the mask's, if wanted."""
    models, batch, asked, heads, width = queries.shape
    count, value_width = keys.shape[2], values.shape[4]
    of_models, of_batch, of_heads = by_mask.shape[:3]
    across, mean = _filled(value_width, asked), _filled(1, asked)[0]
    own_keys, own_queries = _filled(count, width), _filled(asked, width)
    pulled, by_scores = _filled(asked, value_width), _filled(count, asked)
    by_query, by_key = _filled(asked, width), _filled(count, width)
    by_value = _filled(count, value_width)
    for model in range(models):
        for one in range(batch):
            for head in range(heads):
                shares = weights[model, one, head]
                for key in range(count):
                    for place in range(width):
                        own_keys[key, place] = keys[model, one, key, head, place] * scale
                for query in range(asked):
                    for place in range(width):
                        own_queries[query, place] = queries[model, one, query, head, place] * scale
                    for place in range(value_width):
                        pull = by_mixed[model, one, query, head, place]
                        pulled[query, place] = pull
                        across[place, query] = pull
                _products(shares[:, :asked], pulled, by_value)
                _products(values[model, one, :, head], across, by_scores)
                mean[:] = single(0.0)
                for key in range(count):
                    row, share = by_scores[key], shares[key]
                    for query in range(len(mean)):
                        mean[query] += share[query] * row[query]
                for key in range(count):
                    row, share = by_scores[key], shares[key]
                    for query in range(len(mean)):
                        row[query] = share[query] * (row[query] - mean[query])
                if wanted:
                    total = by_mask[model % of_models, one % of_batch, head % of_heads]
                    for key in range(count):
                        for query in range(len(mean)):
                            total[key, query] += by_scores[key, query]
                _products(by_scores[:, :asked].T, own_keys, by_query)
                _products(by_scores[:, :asked], own_queries, by_key)
                for query in range(asked):
                    for place in range(width):
                        by_queries[model, one, query, head, place] = by_query[query, place]
                for key in range(count):
                    for place in range(width):
                        by_keys[model, one, key, head, place] = by_key[key, place]
                    for place in range(value_width):
                        by_values[model, one, key, head, place] = by_value[key, place]
