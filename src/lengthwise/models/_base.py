"""What every model is: a frozen shape that builds a module, and what modules share."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.registry import MODELS
from lengthwise.remedies import Keys, Remedy
from lengthwise.remedies._chain import canonical
from lengthwise.remedies._keys import ids_like
from lengthwise.tasks import Task, Tokens

model = MODELS.register
"""`@model("gpt")` above a frozen dataclass makes a model known by that name."""


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """The shape of a model: its fields say all about it, and JSON can hold them."""

    name: ClassVar[str]
    """The name by which the command line and run folders know the model: see `model`."""

    reads: ClassVar[type[Task]] = Task  # type: ignore[type-abstract]
    """The kind of task whose inputs it can read."""

    remedies: tuple[str, ...] = ()
    """Remedies by name, each with options behind a colon (layernorm:place=before), or by the path
    of a Python file; they act in this order."""

    def __post_init__(self) -> None:
        # Another process finds a user's file by what is in it, not by where it lay.
        object.__setattr__(self, "remedies", canonical(self.remedies))

    @abstractmethod
    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> nn.Module:
        """An untrained model for a task.

        Args:
            task: What it will read and answer.
            hyperparameters: What is its own within a fleet, such as dropout rates.
            max_train_length: The longest input of training, which some remedies ask for (default:
                the longest of the task).

        Raises:
            InputError: A field, a remedy or a rate does not fit.
        """

    def pack_key(self, hyperparameters: Hyperparameters) -> Hashable:
        """Models whose keys differ train faster in fleets of their own.

        Args:
            hyperparameters: Hyper-parameters of the model.
        """
        return ()


def tokens_of(inputs: Tensor | Tokens) -> Tokens:
    """Plain tokens with nothing said of them, or what was given."""
    return Tokens(inputs) if isinstance(inputs, Tensor) else inputs


def position_ids(inputs: Tokens, remedies: Iterable[Remedy]) -> Tensor:
    """The position ids of tokens, as the task and the model's remedies have them."""
    ids = ids_like(inputs.tokens) if inputs.position_ids is None else inputs.position_ids
    for one in remedies:
        ids = one.ids(ids)
    return ids


def embedded(inputs: Tokens, hidden: Tensor, ids: Tensor, remedies: Iterable[Remedy]) -> Tensor:
    """Embedded tokens as the model's remedies have them."""
    for one in remedies:
        hidden = one.numbered(one.embedded(hidden, ids), inputs.tokens)
    return hidden


def read_of(
    inputs: Tokens, ids: Tensor, like: Tensor, remedies: Iterable[Remedy], *, causal: bool
) -> Keys:
    """What every token sees: all that are no padding, and with `causal` none after it.

    A token always sees itself, padding as well, so that no query is without a key.
    """
    length = like.shape[-2]
    hidden = torch.zeros(length, length, dtype=like.dtype, device=like.device)
    if causal:
        hidden = torch.full_like(hidden, -torch.inf).triu(1)
    if inputs.mask is not None:
        others = ~torch.eye(length, dtype=torch.bool, device=like.device)
        padding = ((~inputs.mask).unsqueeze(-2) & others).unsqueeze(-3)
        hidden = hidden.masked_fill(padding, -torch.inf)
    # Several ids per token are for what is added to the embedding, not for distances.
    places = ids if ids.dim() <= inputs.tokens.dim() else None
    read = Keys(hidden, places, places, causal=causal and inputs.mask is None)
    for one in remedies:
        visible = one.visible(read)
        if visible is not None:
            hidden = read.log_count.masked_fill(~visible, -torch.inf)
            read = replace(read, log_count=hidden, causal=False)
    for one in remedies:
        bias = one.bias(read)
        if bias is not None:
            read = replace(read, bias=bias if read.bias is None else read.bias + bias)
    return read
