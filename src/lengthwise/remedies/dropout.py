"""Dropout whose masks are addressed by (key, step, element), not consumed from a generator."""

from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.operations import fill
from lengthwise.randomness import at, bits


class Dropout(nn.Module):
    """Zero each element with probability `rate` in training, and scale up the rest by 1/(1 - rate).

    Models have one at each of three sites (`embed_dropout`, `attention_dropout`, `resid_dropout`),
    all off by default. Outside training it does nothing, at any length. On attention weights it
    makes the weights of a training pass sum to 1 on average only, with a spread that falls as the
    weights spread over more keys: training at short lengths sees more of that noise than there is
    at long ones. Not DropDim, DropKey, nor attention dropout that renormalizes.

    Rate, key and step are buffers, so a fleet's stacked state carries one of each per model: every
    model has its own rate and its own masks, and gets the same masks alone as in any fleet. The key
    is drawn from torch's generator, so `torch.manual_seed` before building a model governs it. The
    step counts the forward passes made in training.

    Args:
        rate: How likely an element is zeroed.
        field: The name of the hyper-parameter, for messages.
    """

    rate: Tensor
    key: Tensor
    step: Tensor

    def __init__(self, rate: float = 0.0, field: str = "rate") -> None:
        """Make a dropout; `field` is what an error about `rate` calls it."""
        super().__init__()
        require(0.0 <= rate < 1.0, field, rate, "a rate in [0, 1)")
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64))
        # Drawn even where the rate is zero: models that differ only in a rate start out equal.
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.active = rate > 0.0
        """Whether to spend any time at all; a fleet sets it if any of its models has a rate."""

    def forward(self, values: Tensor) -> Tensor:
        """Apply the mask of this step; outside training, give `values` back.

        Args:
            values: Any tensor.
        """
        if not (self.training and self.active):
            return values
        key, rate = at(self.key, self.step), self.rate
        self.step.add_(1)
        scale = (1.0 / (1.0 - rate)).to(values.dtype)
        if values.device.type == "cpu" and not torch.compiler.is_compiling():
            dropped: Tensor = _Dropped.apply(values, key, rate, scale)
            return dropped
        threshold = (rate * 2**32 - 2**31).to(torch.int32)
        return values * ((bits(key, values.numel()).view(values.shape) >= threshold) * scale)


class _Dropped(torch.autograd.Function):
    """Dropout on a processor. It is its own gradient, so no mask needs to be kept."""

    @staticmethod
    def forward(values: Tensor, key: Tensor, rate: Tensor, scale: Tensor) -> Tensor:
        dtype = torch.promote_types(values.dtype, torch.float32)  # numpy has no bfloat16
        rows = (key.numel(), values.numel() // max(1, key.numel()))
        dropped = torch.empty(rows, dtype=dtype)
        given = values.detach().to(dtype).reshape(rows)
        keys, rates, scales = key.reshape(-1), rate.reshape(-1), scale.to(dtype).reshape(-1)
        fill(_fill_dropped, (given, keys, rates, scales), (dropped,))
        return dropped.view(values.shape).to(values.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        return _Dropped.apply(gradient, *ctx.saved_tensors), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        rows = [
            tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims, strict=True)
        ]
        return _Dropped.apply(*rows), 0


def _fill_dropped(*tensors: Tensor) -> None:
    from lengthwise.compiled import drop  # not needed without dropout

    drop(*(tensor.numpy() for tensor in tensors))
