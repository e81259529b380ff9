"""LayerNorm of models side by side, in one pass forward and one backward."""

from functools import partial
from typing import Any

import torch
from numpy import float32 as single
from numpy import sqrt, zeros
from numpy.typing import NDArray
from torch import Tensor

from lengthwise.compiled import compiled
from lengthwise.operations import fill

Singles = NDArray[single]


class Norms(torch.autograd.Function):
    """LayerNorm of `(models, ..., width)`, with a gain and a bias `(models, width)`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Tensor:
        """What is normed."""
        normed = torch.empty_like(x, memory_format=torch.contiguous_format)
        found = x.new_empty((*x.shape[:-1], 2))  # of every row its mean, and 1 over its deviation
        fill(_fill_normed, (x, gain, bias), (normed, found), epsilon)
        ctx.save_for_backward(x, gain, found)
        return normed

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """The gradients of x, gain and bias."""
        x, gain, found = ctx.saved_tensors
        by_x = torch.empty_like(x, memory_format=torch.contiguous_format)
        by_gain, by_bias = (
            torch.empty_like(gain, memory_format=torch.contiguous_format) for _ in range(2)
        )
        fill(_fill_gradients, (x, gain, found, gradient), (by_x, by_gain, by_bias))
        return by_x, by_gain, by_bias, None


def _fill_normed(*tensors_epsilon: Any) -> None:
    *tensors, epsilon = tensors_epsilon
    _norm(single(epsilon), *_arrays(*tensors))


def _fill_gradients(*tensors: Tensor) -> None:
    _norm_backward(*_arrays(*tensors))


def _arrays(*tensors: Tensor) -> list[Singles]:
    """Tensors as arrays (models, width), or (models, rows, width) where they have rows."""
    arrays = []
    for one in tensors:
        array = one.detach().contiguous().numpy()
        arrays.append(array if one.dim() == 2 else array.reshape(len(one), -1, one.shape[-1]))
    return arrays


@partial(compiled, in_any_order=True)
def _norm(
    epsilon: Any, x: Singles, gain: Singles, bias: Singles, normed: Singles, found: Singles
) -> None:
    """Fill in `normed` and `found`."""
    models, rows, width = x.shape
    for model in range(models):
        for row in range(rows):
            own, out = x[model, row], normed[model, row]
            mean = single(0.0)
            for place in range(width):
                mean += own[place]
            mean /= single(width)
            square = single(0.0)
            for place in range(width):
                square += (own[place] - mean) * (own[place] - mean)
            rate = single(1.0) / sqrt(square / single(width) + epsilon)
            for place in range(width):
                out[place] = (own[place] - mean) * rate * gain[model, place] + bias[model, place]
            found[model, row, 0], found[model, row, 1] = mean, rate


@partial(compiled, in_any_order=True)
def _norm_backward(
    x: Singles,
    gain: Singles,
    found: Singles,
    gradient: Singles,
    by_x: Singles,
    by_gain: Singles,
    by_bias: Singles,
) -> None:
    """Fill in the last three out of `gradient`, that of what was normed."""
    models, rows, width = x.shape
    gains, biases = zeros(width, single), zeros(width, single)
    for model in range(models):
        factor = gain[model]
        gains[:], biases[:] = single(0.0), single(0.0)
        for row in range(rows):
            own, pulled, out = x[model, row], gradient[model, row], by_x[model, row]
            mean, rate = found[model, row, 0], found[model, row, 1]
            total, along = single(0.0), single(0.0)
            for place in range(width):
                pull, normed = pulled[place], (own[place] - mean) * rate
                gains[place] += pull * normed
                biases[place] += pull
                total += pull * factor[place]
                along += pull * factor[place] * normed
            total, along = total / single(width), along / single(width)
            for place in range(width):
                normed = (own[place] - mean) * rate
                out[place] = rate * (pulled[place] * factor[place] - total - normed * along)
        by_gain[model], by_bias[model] = gains, biases
