"""Softmax attention over a hidden layer of items, without ever writing that layer to memory.

A set of 16 items has a hidden layer of 8 kB, and a batch of a fleet of eight models one of 8 MB.
Layer by layer, every operation passes over all of it, and waits for memory; set by set, it stays in
a core's nearest cache. The backward pass computes it again, which takes less time than to keep it.
"""

from functools import partial
from typing import Any

import torch
from llvmlite import ir
from numba import float32, int32
from numba.extending import intrinsic
from numpy import empty, zeros
from numpy import float32 as single
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from lengthwise.compiled import compiled
from lengthwise.operations import fill

Singles = NDArray[single]


def read_items(items: Tensor, weight: Tensor, bias: Tensor, queries: Tensor) -> Tensor:
    """What queries mix of gelu(items @ weight.T + bias), which are keys and values in one.

    Args:
        items: `(batch, items, item features)`.
        weight: `(features, item features)`.
        bias: `(features,)`.
        queries: `(batch, queries, features)`, which scores are taken with as they are.

    Returns:
        `(batch, queries, features)`.
    """
    tensors = (items, weight, bias, queries)
    plain = torch.is_autocast_enabled(items.device.type) or items.requires_grad
    if plain or any(one.device.type != "cpu" or one.dtype != torch.float32 for one in tensors):
        mixed: Tensor = SoftmaxRead.apply(features_of(items, weight, bias), queries)[0]
    else:
        mixed = ItemsRead.apply(*tensors)[0]
    return mixed


def features_of(items: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """gelu(items @ weight.T + bias)."""
    # One large matrix product with the bias as a column of it: in a fleet, adding the bias
    # would take as long as the product.
    rows = functional.pad(items.flatten(0, 1), (0, 1), value=1.0)
    hidden = rows @ torch.cat([weight, bias.unsqueeze(1)], 1).T
    return functional.gelu(hidden).unflatten(0, items.shape[:2])


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


class ItemsRead(torch.autograd.Function):
    """`read_items` in compiled code, for one model or for models side by side.

    All tensors have an axis for models in front, or none has.
    """

    @staticmethod
    def forward(
        items: Tensor, weight: Tensor, bias: Tensor, queries: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The mix and the attention weights."""
        mixed = torch.empty_like(queries, memory_format=torch.contiguous_format)
        weights = queries.new_empty((*queries.shape[:-1], items.shape[-2]))
        fill(_fill_read, (items, weight, bias, queries), (mixed, weights))
        return mixed, weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the gradient needs, which has no features."""
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, mixed: Tensor, _: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        """The gradients of weight, bias and queries; items are data."""
        items, weight, bias, queries, weights = ctx.saved_tensors
        by_weight, by_bias, by_queries = (
            torch.empty_like(one, memory_format=torch.contiguous_format)
            for one in (weight, bias, queries)
        )
        given = (items, weight, bias, queries, weights, mixed)
        fill(_fill_gradients, given, (by_weight, by_bias, by_queries))
        return None, by_weight, by_bias, by_queries

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Models side by side: the axis goes in front; items may be the same for all."""
        placed = [
            tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims, strict=True)
        ]
        items, *own = placed
        own = [one.expand(info.batch_size, *one.shape[1:]) for one in own]
        outputs: tuple[Tensor, Tensor] = ItemsRead.apply(items, *own)
        return outputs, (0, 0)


def _fill_read(items: Tensor, weight: Tensor, bias: Tensor, *others: Tensor) -> None:
    _read(*_arrays(3, weight), *_arrays(2, bias), *_arrays(4, items, *others))


def _fill_gradients(items: Tensor, weight: Tensor, bias: Tensor, *others: Tensor) -> None:
    queries, weights, mixed, by_weight, by_bias, by_queries = others
    _read_backward(
        *_arrays(3, weight),
        *_arrays(2, bias),
        *_arrays(4, items, queries, weights, mixed),
        *_arrays(3, by_weight),
        *_arrays(2, by_bias),
        *_arrays(4, by_queries),
    )


def _arrays(dimensions: int, *tensors: Tensor) -> list[Singles]:
    """The tensors as arrays with an axis for models."""
    arrays = (tensor.detach().contiguous().numpy() for tensor in tensors)
    return [one if one.ndim == dimensions else one[None] for one in arrays]


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


@partial(compiled, rounded_once=True)
def _beyond(x: Any, bell: Any) -> Any:
    """The chance that a normal number is above |x|, where exp(-x * x / 2) is `bell`.

    A polynomial in 1 / (1 + 0.35 |x|), fitted to a relative error of 3e-8 up to |x| = 13.
    """
    t = single(1.0) / (single(1.0) + single(0.35) * abs(x))
    series = single(-0.029109095) * t + single(0.14378901)
    series = series * t + single(-0.25532887)
    series = series * t + single(0.15872378)
    series = series * t + single(-0.02279192)
    series = series * t + single(0.10536967)
    series = series * t + single(0.11986898)
    series = series * t + single(0.13985672)
    series = series * t + single(0.13962171)
    return series * t * bell


@partial(compiled, in_any_order=True)
def _add_products(left: Singles, right: Singles, total: Singles) -> None:
    """Total += left @ right.

    Four rows of `left` meet four rows of `right` at a time: sixteen products for eight loads.
    """
    rows, inner, width = left.shape[0], left.shape[1], right.shape[1]
    all_rows, all_inner = rows // 4 * 4, inner // 4 * 4
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
def _read(
    weight: Singles,
    bias: Singles,
    items: Singles,
    queries: Singles,
    mixed: Singles,
    weights: Singles,
) -> None:
    """Fill in `mixed` and `weights`."""
    models, sets, count, width = queries.shape
    own, length = items.shape[0], items.shape[2]
    hidden = empty((length, width), single)
    for model in range(models):
        across = weight[model].T.copy()
        for one in range(sets):
            hidden[:] = bias[model]
            _add_products(items[model % own, one], across, hidden)
            for item in range(length):
                for place in range(width):
                    x = hidden[item, place]
                    beyond = _beyond(x, _exp(single(-0.5) * x * x))
                    hidden[item, place] = x * (single(1.0) - beyond if x > single(0.0) else beyond)
            for query in range(count):
                asked, given = queries[model, one, query], weights[model, one, query]
                mix = mixed[model, one, query]
                top = single(-1e38)
                for item in range(length):
                    score = single(0.0)
                    for place in range(width):
                        score += asked[place] * hidden[item, place]
                    given[item] = score
                    top = max(top, score)
                total = single(0.0)
                for item in range(length):
                    given[item] = _exp(given[item] - top)
                    total += given[item]
                for place in range(width):
                    mix[place] = single(0.0)
                for item in range(length):
                    share = given[item] / total
                    given[item] = share
                    for place in range(width):
                        mix[place] += share * hidden[item, place]


@partial(compiled, in_any_order=True)
def _read_backward(
    weight: Singles,
    bias: Singles,
    items: Singles,
    queries: Singles,
    weights: Singles,
    by_mixed: Singles,
    by_weight: Singles,
    by_bias: Singles,
    by_queries: Singles,
) -> None:
    """Fill in the last three: gradients out of `by_mixed`, that of the mix."""
    models, sets, count, width = queries.shape
    own, length, inner = items.shape[0], items.shape[2], items.shape[3]
    hidden, slopes = empty((length, width), single), empty((length, width), single)
    by_scores = empty((count, length), single)
    for model in range(models):
        across = weight[model].T.copy()
        total, biases = zeros((inner, width), single), zeros(width, single)
        for one in range(sets):
            read = items[model % own, one]
            hidden[:] = bias[model]
            _add_products(read, across, hidden)
            for item in range(length):
                for place in range(width):
                    x = hidden[item, place]
                    bell = _exp(single(-0.5) * x * x)
                    beyond = _beyond(x, bell)
                    share = single(1.0) - beyond if x > single(0.0) else beyond
                    slopes[item, place] = share + x * single(0.3989422804) * bell
                    hidden[item, place] = x * share
            for query in range(count):
                given, pulled = weights[model, one, query], by_mixed[model, one, query]
                by_query, by_score = by_queries[model, one, query], by_scores[query]
                mean = single(0.0)
                for item in range(length):
                    by_share = single(0.0)
                    for place in range(width):
                        by_share += pulled[place] * hidden[item, place]
                    by_score[item] = by_share
                    mean += given[item] * by_share
                for place in range(width):
                    by_query[place] = single(0.0)
                for item in range(length):
                    value = given[item] * (by_score[item] - mean)
                    by_score[item] = value
                    for place in range(width):
                        by_query[place] += value * hidden[item, place]
            # The features are no longer needed: their place takes their gradient.
            hidden[:] = single(0.0)
            for item in range(length):
                row = hidden[item]
                for query in range(count):
                    asked, pulled = queries[model, one, query], by_mixed[model, one, query]
                    as_value, as_key = weights[model, one, query, item], by_scores[query, item]
                    for place in range(width):
                        row[place] += as_value * pulled[place] + as_key * asked[place]
                for place in range(width):
                    row[place] *= slopes[item, place]
                    biases[place] += row[place]
            _add_products(read.T, hidden, total)
        by_bias[model] = biases
        by_weight[model] = total.T
