"""What tests of attention weights share: one remedy by itself, and what it may see."""

from typing import Any

import torch
from torch import Tensor

from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys, Shape


def made(name: str, heads: int = 1, head_width: int = 4, layer: int = 0, /, **options: Any) -> Any:
    """A remedy in float64, for the longest training input of 32."""
    width = heads * head_width
    kind = REMEDIES.get(name)
    shape = Shape(
        width=width, heads=heads, head_width=head_width, value_width=width, layer=layer,
        max_length=64, max_train_length=32,
    )  # fmt: skip
    return kind(shape, **options).double().eval()


def causal(length: int, **known: Any) -> Keys:
    """What tokens see of themselves and those before them."""
    hidden = torch.full((length, length), -torch.inf).double().triu(1)
    return Keys(hidden, causal=True, **known)


def everything(length: int, queries: int = 1) -> Keys:
    """All keys, for every query."""
    return Keys(torch.zeros(queries, length).double())


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    """Normal numbers in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def share_of_first(weights: Tensor) -> float:
    """How much of the energy of the weights is the first key's."""
    return float((weights[..., 0].square() / weights.square().sum(-1)).mean())
