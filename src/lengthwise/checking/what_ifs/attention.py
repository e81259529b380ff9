"""Changes of attention itself, through transformers' AttentionInterface."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lengthwise.checking.quiet import quiet
from lengthwise.errors import InputError
from lengthwise.probing.observer import attention_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

IMPLEMENTATION = "lengthwise_what_if_sdpa"
"""The name contains `sdpa`, so transformers checks that the model supports it."""


@dataclass(frozen=True)
class Call:
    """One call of attention of one layer."""

    layer: int
    """Counted by calls, from 0."""
    query: Tensor
    """`(batch, heads, length, width)`."""
    key: Tensor
    """`(batch, key heads, length, width)`; a key head serves a group of query heads."""
    value: Tensor
    mask: Tensor | None
    """`(batch or 1, 1, length, length)`, True where a key is seen; None for plain causal."""
    scale: float
    plain: Callable[["Call"], Tensor]
    """The model's own `sdpa`: `(batch, length, heads, width)`."""

    def with_query(self, query: Tensor) -> "Call":
        """The same call with other queries."""
        return replace(self, query=query)


Change = Callable[[Call], Tensor]
"""Computes an attention output `(batch, length, heads, width)` in place of `call.plain(call)`."""


@contextmanager
def changed_attention(model: "PreTrainedModel", change: Change) -> Iterator[None]:
    """Inside, every layer's attention is computed by `change`."""
    _register()
    changing = _Changing(change)
    with ExitStack() as stack:
        stack.enter_context(attention_of(model, IMPLEMENTATION))
        stack.callback(model.register_forward_pre_hook(changing.begin).remove)
        for module in model.modules():
            _CHANGES[module] = changing
            stack.callback(_CHANGES.pop, module)
        yield


def refusal(model: "PreTrainedModel") -> str | None:
    """Why the attention of a model cannot be changed; None if it can."""
    try:
        with quiet(), attention_of(model, "sdpa"):
            return None
    except InputError as error:
        return str(error).partition(": ")[2].partition(";")[0]


class _Changing:
    """A change, and how many layers it has seen in this forward pass."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.calls = 0

    def begin(self, *_: object) -> None:
        """A new forward pass begins."""
        self.calls = 0


_CHANGES: dict[nn.Module, _Changing] = {}


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(IMPLEMENTATION, _attention)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    changing = _CHANGES[module]
    layer, changing.calls = changing.calls, changing.calls + 1
    biased = options.get("position_bias") is not None
    if biased or (attention_mask is not None and attention_mask.dtype != torch.bool):
        raise InputError(
            f"model = {type(module).__name__!r}: adds numbers of its own to the scores, which "
            "what-ifs of attention do not take; leave them out"
        )

    def plain(call: Call) -> Tensor:
        output: Tensor = sdpa_attention_forward(
            module, call.query, call.key, call.value, call.mask, **options
        )[0]
        return output

    scale = options.get("scaling")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    call = Call(layer, query, key, value, attention_mask, scale, plain)
    return changing.change(call), None
