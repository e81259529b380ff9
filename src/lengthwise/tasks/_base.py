"""What every task offers."""

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor


class Question(NamedTuple):
    """A set of items and a query about them."""

    items: Tensor
    """`(..., count, length, item features)`."""
    query: Tensor
    """`(..., count, query features)`."""


Inputs = Tensor | Question
"""What a model reads: a sequence of tokens, `(..., count, length)`, or a question about a set."""


NO_ANSWER = -100
"""Drawn in place of an answer where nothing is asked: it counts in no loss and no measure."""

InputsKind = TypeVar("InputsKind", bound=Inputs, covariant=True)


class Batch(NamedTuple, Generic[InputsKind]):
    """Examples of one length, with any leading shape the key had."""

    inputs: InputsKind
    """What the model reads."""

    drawn: Tensor
    """The answers that were drawn: `(..., count, length)` for a task that asks after every prefix,
    `(..., count)` for one that asks once."""

    def step(self, index: int) -> "Batch[Any]":
        """Entry `index` of the first leading dimension."""
        if isinstance(self.inputs, Question):
            question = Question(self.inputs.items[index], self.inputs.query[index])
            return Batch(question, self.drawn[index])
        return Batch(self.inputs[index], self.drawn[index])

    def parts(self, count: int) -> Iterator["Batch[Any]"]:
        """The batch of a fleet, `(models, count, ...)`, in so many parts of equal size."""
        size = self.drawn.shape[1] // count
        for first in range(0, count * size, size):
            part = slice(first, first + size)
            if isinstance(self.inputs, Question):
                question = Question(self.inputs.items[:, part], self.inputs.query[:, part])
                yield Batch(question, self.drawn[:, part])
            else:
                yield Batch(self.inputs[:, part], self.drawn[:, part])

    def to(self, dtype: torch.dtype) -> "Batch[Any]":
        """The same with items and queries in `dtype`; tokens are whole numbers and stay so."""
        if isinstance(self.inputs, Question):
            question = Question(self.inputs.items.to(dtype), self.inputs.query.to(dtype))
            return Batch(question, self.drawn)
        return self


@runtime_checkable
class Task(Protocol):
    """Draws examples of a given length and knows the exact target distribution of each.

    A task is a frozen dataclass: its fields say all about it.
    """

    @property
    def name(self) -> str:
        """The name by which the command line and run folders know the task."""
        ...

    @property
    def classes(self) -> int:
        """Over how many answers the target is a distribution."""
        ...

    @property
    def lengths(self) -> range:
        """All lengths that exist."""
        ...

    def draw(self, key: Tensor, length: int, count: int) -> Batch[Any]:
        """Draw `count` examples of `length` from each stream of `key`.

        Example i of a stream depends on the stream and on i only, not on `count`.
        """
        ...

    def targets(self, inputs: Any) -> Tensor:
        """The exact target distribution of every answer: `(*shape of drawn, classes)`.

        It is zero everywhere where nothing is asked.
        """
        ...


@runtime_checkable
class SequenceTask(Task, Protocol):
    """A task over tokens that asks after every prefix."""

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All inputs of `length`, equally likely, or None where they are more than `limit`."""
        ...


@runtime_checkable
class SetTask(Task, Protocol):
    """A task over sets of items that can be drawn in parts, so that any number of them fits."""

    @property
    def item_width(self) -> int:
        """Number of features of an item."""
        ...

    @property
    def query_width(self) -> int:
        """Number of features of the query."""
        ...

    def draw_items(self, key: Tensor, length: int, count: int, part: range) -> Tensor:
        """The items of `draw` numbered by `part`: `(..., count, len(part), item_width)`."""
        ...

    def draw_questions(self, key: Tensor, length: int, count: int) -> "Asked":
        """All of `draw` but the items."""
        ...


class Asked(NamedTuple):
    """The query, the answer, and where it stands."""

    query: Tensor
    """`(..., count, query features)`."""
    answer: Tensor
    """The right class: `(..., count)`."""
    item: Tensor
    """The number of the item that holds the answer: `(..., count)`."""
