"""Linear layers and LayerNorm for models side by side, each in one operation.

Under `vmap`, torch adds the bias of a linear layer in a pass of its own, and takes LayerNorm apart
into four. Modules say `vmapped` where a fleet runs them, and then do the same in one operation for
all models. That steps out of `vmap` (`outside`): an `autograd.Function` with a rule for it, which
must have a `setup_context`, costs 0.2 ms a call, more than most of what is done here.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

try:
    from torch._C._functorch import (
        _add_batch_dim,
        get_unwrapped,
        is_batchedtensor,
        maybe_get_bdim,
        peek_interpreter_stack,
    )
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    STEPS_OUT = True
except ImportError:  # it is no promise of torch's, and only costs time where it is missing
    STEPS_OUT = False


def outside(function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """What a function gives that takes all models at once, called under `vmap`.

    Args:
        function: Takes tensors that have an axis for models in front, of length 1 where they are
            the same for all, and gives one that has it.
        tensors: As one model sees them.
    """
    interpreter = retrieve_current_functorch_interpreter()
    level = interpreter.level()
    given = [
        get_unwrapped(one).movedim(maybe_get_bdim(one), 0)
        if is_batchedtensor(one)
        else one.unsqueeze(0)
        for one in tensors
    ]
    with interpreter.lower():
        together = function(*given)
    made: Tensor = _add_batch_dim(together, 0, level)
    return made


def of_all(*tensors: Tensor) -> list[Tensor]:
    """Tensors with an axis for models, written out where it is of length 1."""
    models = max(map(len, tensors))
    return [one if len(one) == models else one.expand(models, *one.shape[1:]) for one in tensors]


def fast(*tensors: Tensor) -> bool:
    """Whether compiled code takes tensors: under `vmap`, float32 on a processor, as asked for."""
    if not STEPS_OUT or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return False
    if peek_interpreter_stack() is None:
        return False
    return all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tensors)


class Linear(nn.Linear):
    """A linear layer, which a fleet computes for all of its models at once."""

    vmapped = False
    """Whether it runs under `vmap`; a fleet says so."""

    def forward(self, x: Tensor) -> Tensor:
        """`(..., in features)` to `(..., out features)`."""
        if self.vmapped and self.bias is not None and fast(x, self.weight):
            return outside(_linears, x, self.weight, self.bias)
        return super().forward(x)


class LayerNorm(nn.LayerNorm):
    """LayerNorm of the last axis, which a fleet computes for all of its models at once."""

    vmapped = False
    """Whether it runs under `vmap`; a fleet says so."""

    def forward(self, x: Tensor) -> Tensor:
        """`(..., width)` to the same."""
        if self.vmapped and len(self.normalized_shape) == 1 and fast(x, self.weight):
            return outside(self._norms, x, self.weight, self.bias)
        return super().forward(x)

    def _norms(self, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        from lengthwise.models.layer_norms import Norms  # the compiler takes a second to load

        normed: Tensor = Norms.apply(*of_all(x, gain, bias), self.eps)
        return normed


def _linears(*tensors: Tensor) -> Tensor:
    mapped: Tensor = Linears.apply(*of_all(*tensors))
    return mapped


class Linears(torch.autograd.Function):
    """x W' + b of `(models, ..., in)`, with W `(models, out, in)` and b `(models, out)`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """`(models, ..., out)`."""
        ctx.save_for_backward(x, weight)
        mapped = torch.baddbmm(bias.unsqueeze(1), x.reshape(len(x), -1, x.shape[-1]), weight.mT)
        return mapped.view(*x.shape[:-1], weight.shape[-2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """The gradients of x, W and b; that of W lies in memory as W does."""
        x, weight = ctx.saved_tensors
        rows = gradient.reshape(len(gradient), -1, gradient.shape[-1])
        by_x = (rows @ weight).view(x.shape) if ctx.needs_input_grad[0] else None
        return by_x, rows.mT @ x.reshape(len(x), -1, x.shape[-1]), rows.sum(1)
