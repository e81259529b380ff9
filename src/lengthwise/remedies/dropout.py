"""Dropout whose masks are addressed by (key, step, element), not consumed from a generator."""

from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.randomness import at, bits


class Dropout(nn.Module):
    """Zero each element with probability `rate` in training, and scale up the rest.

    Rate, key and step are buffers, so a fleet's stacked state carries one of each per model: every
    model has its own rate and its own masks, and gets the same masks alone as in any fleet. The key
    is drawn from torch's generator, so `torch.manual_seed` before building a model governs it. The
    step counts the forward passes made in training.
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
        """Apply the mask of this step; outside training, give `values` back."""
        if not (self.training and self.active):
            return values
        mask = _mask(at(self.key, self.step), self.rate, values)
        self.step.add_(1)
        return values * mask


def _mask(key: Tensor, rate: Tensor, values: Tensor) -> Tensor:
    """What to multiply `values` with: 0 or 1 / (1 - rate), by the numbers of stream `key`."""
    if values.device.type == "cpu" and not torch.compiler.is_compiling():
        mask: Tensor = _CompiledMask.apply(key, rate, values.numel(), values.dtype)
        return mask.view(values.shape)
    threshold = (rate * 2**32 - 2**31).to(torch.int32)
    scale = (1.0 / (1.0 - rate)).to(values.dtype)
    return (bits(key, values.numel()).view(values.shape) >= threshold) * scale


class _CompiledMask(torch.autograd.Function):
    """The mask of a processor; under `vmap` keys and rates of all models at once."""

    @staticmethod
    def forward(key: Tensor, rate: Tensor, count: int, dtype: torch.dtype) -> Tensor:
        from lengthwise.compiled import fill_mask  # not needed without dropout

        known = torch.promote_types(dtype, torch.float32)  # numpy has no bfloat16
        mask = torch.empty((key.numel(), count), dtype=known)
        fill_mask(key.reshape(-1).numpy(), rate.reshape(-1).numpy(), mask.numpy())
        return mask.view(*key.shape, count).to(dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, key: Tensor, rate: Tensor, *sizes: Any) -> tuple[Tensor, int]:
        key, rate = (
            tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip((key, rate), in_dims, strict=False)
        )
        return _CompiledMask.apply(key, rate, *sizes), 0
