"""What a what-if is: a change of a model that needs no training and is undone exactly."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Rescaling:
    """By layer: how attention outputs vary at some length, and how they did at the trained one."""

    mean: Mapping[int, Tensor]
    """`(heads, components)`, at this length."""
    factor: Mapping[int, Tensor]
    """`(heads,)`: the standard deviation at the trained length over that at this one."""


@dataclass(frozen=True)
class Situation:
    """Where a what-if is applied."""

    trained: int
    """The length that the model was trained for, as its configuration claims."""
    length: int
    """How long the inputs are."""
    rescaling: Rescaling | None = None
    """Known only if attention was watched at this length and at one that was trained."""


@dataclass(frozen=True)
class WhatIf:
    """A change of a model, by name."""

    name: str
    sentence: str
    """What it does."""
    apply: Callable[["PreTrainedModel", Situation], AbstractContextManager[None]]
    """Inside the context the model is changed; after it, also after an error, it is as before."""
    refusal: Callable[["PreTrainedModel"], str | None]
    """Why this model cannot take it; None if it can."""
    beyond: bool
    """Whether it leaves inputs up to the trained length exactly as they are."""
    watched: bool = False
    """Whether it needs what attention did without it."""
    setting: Callable[[int], dict[str, object]] | None = field(default=None)
    """What to write into the configuration, given the trained length; None if that cannot say it.
    """
