"""What every task offers."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from lengthwise.errors import require
from lengthwise.registry import TASKS

task = TASKS.register
"""`@task("parity")` above a frozen dataclass makes a task known by that name."""

IGNORE_INDEX = -100
"""A label where nothing is asked: it counts in no loss and no measure."""

COUNTED = 1 << 12
"""Inputs are counted one by one up to so many. Ours."""


class Tokens(NamedTuple):
    """Tokens with what a task may say of them; where it says nothing, plain tokens will do."""

    tokens: Tensor
    """`(..., count, length)`."""
    position_ids: Tensor | None = None
    """Whole numbers `(..., count, length)`, or `(..., count, length, tracks)`; default 0, 1, ..."""
    mask: Tensor | None = None
    """`(..., count, length)`: False at padding, which no other token reads."""


class SetInput(NamedTuple):
    """A set of items and a query about them."""

    items: Tensor
    """`(..., count, length, item features)`."""
    query: Tensor
    """`(..., count, query features)`."""


class Batch(NamedTuple):
    """Examples of one length, with any leading shape the key had."""

    inputs: Any
    """What the model reads: any pytree of tensors, such as tokens, `Tokens` or `SetInput`."""

    labels: Tensor
    """The answers: `(..., count, input size)` for a task that asks at places, with `IGNORE_INDEX`
    where it does not, or `(..., count)` for one that asks once, at the end. Where answers are
    numbers, a last axis holds those of one answer, and there is an answer at every place."""

    def at(self, index: int) -> "Batch":
        """Entry `index` of the first leading dimension.

        Args:
            index: Which entry.
        """
        return self._map(lambda tensor: tensor[index])

    def parts(self, count: int) -> Iterator["Batch"]:
        """The batch of a fleet, `(models, count, ...)`, in so many parts of equal size.

        Args:
            count: How many parts; it divides the number of examples.
        """
        if count == 1:
            yield self
            return
        size = self.labels.shape[1] // count
        for number in range(count):
            part = slice(number * size, (number + 1) * size)
            yield self._map(operator.itemgetter((slice(None), part)))

    def to(self, dtype: torch.dtype) -> "Batch":
        """The same with numbers in `dtype`; whole numbers and masks stay what they are.

        Args:
            dtype: A floating-point type.
        """
        return self._map(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        return Batch(map_tensors(change, self.inputs), change(self.labels))


def require_answerable(inputs: Any, answers: Tensor) -> None:
    """Raise `InputError` where one answer per input is asked for behind padding.

    Args:
        inputs: What a model reads.
        answers: Their labels, or anything else with their shape.
    """
    mask = inputs.mask if isinstance(inputs, Tokens) else None
    if mask is not None and answers.dim() < mask.dim():
        expected = "True at the last place of every input, which is the one that answers"
        require(bool(mask[..., -1].all()), "mask", False, expected)


def map_tensors(change: Callable[[Tensor], Tensor], inputs: Any) -> Any:
    """A pytree with every tensor of it changed; what is absent (None) stays so."""
    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, Tensor) else leaf, inputs)


class Task(ABC):
    """Draws examples of a given length and knows the exact target distribution of each answer.

    A task is a frozen dataclass: its fields say all about it, and JSON can hold them.
    """

    name: ClassVar[str]
    """The name by which the command line and run folders know the task: see `task`."""

    defaults: ClassVar[Mapping[str, Any]] = {}
    """What is trained if nobody says otherwise: fields of a recipe or of `Hyperparameters`, and the
    name of the model."""

    prefixes: ClassVar[bool] = False
    """Whether every prefix of an input is an input and is asked: place i then answers length i+1,
    and one pass over long inputs measures all lengths."""

    unit: ClassVar[str] = "tokens"
    """What a length counts, in the plural: tokens, digits, items."""

    numbers: ClassVar[bool] = False
    """Whether answers are real numbers in place of classes: the loss is then the squared error, and
    the measures are `mse` and `excess_mse`."""

    graded: ClassVar[bool] = False
    """Whether possible answers differ in how likely they are, as in a posterior. None of them is
    simply right then, and `expected_accuracy` is measured in place of accuracy and exact match."""

    legal_sets: ClassVar[bool] = False
    """Whether all right answers are to be named, as of formal languages, where one is nearly always
    easy: `legal_set` and `legal_set_match` are then measured, too."""

    @property
    def classes(self) -> int:
        """Over how many answers the target is a distribution."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        """How many numbers a model gives as one answer: a logit of every class, or the answer."""
        return self.classes

    @property
    def class_names(self) -> tuple[str, ...]:
        """How a person writes each class."""
        return tuple(map(str, range(self.classes)))

    @property
    def lengths(self) -> range:
        """All lengths that exist; they may begin anywhere."""
        raise NotImplementedError

    @abstractmethod
    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Draw `count` examples of `length` from each stream of `key`.

        Example i of a stream depends on the stream and on i only, not on `count`.

        Args:
            key: Random streams, of any shape.
            length: How long the inputs are.
            count: How many examples per stream.
        """

    @abstractmethod
    def targets(self, inputs: Any) -> Tensor:
        """The exact target distribution of every answer: `(*shape of labels, classes)`.

        It is zero everywhere where nothing is asked. Where answers are numbers it is their mean
        given the input, which is the best prediction by squared error: `(*shape of labels)`.

        Args:
            inputs: The inputs of a batch.
        """

    def variances(self, inputs: Any) -> Tensor:
        """Where answers are numbers: their variance given the input, which no prediction avoids.

        Args:
            inputs: The inputs of a batch.
        """
        raise NotImplementedError

    def enumerate_inputs(self, length: int, limit: int) -> Any | None:
        """All inputs of `length`, equally likely, or None: they are more than `limit` or unlike.

        Args:
            length: How long the inputs are.
            limit: The most inputs to make.
        """
        return None

    def count_inputs(self, length: int) -> int | None:
        """How many different inputs of `length` there are, or None where that is not known.

        Unless a task knows better it is known where all of few inputs can be enumerated.

        Args:
            length: How long the inputs are.
        """
        every = self.enumerate_inputs(length, COUNTED)
        return None if every is None else len(tree_leaves(every)[0])

    def answer_rates(self, length: int) -> Tensor | None:
        """How often each class is the right answer, `(classes,)`, where a task knows it.

        That is for tasks that ask once with one right class: their baselines need no draws then.

        Args:
            length: How long the inputs are.
        """
        return None

    def held_out(self) -> Self:
        """The task that tests are drawn from, where its examples must not occur in training."""
        return self


class TokenTask(Task):
    """A task over tokens: inputs are whole numbers `(..., count, input size)`, or `Tokens`."""

    autoregressive: ClassVar[bool] = False
    """Whether answers stand among the inputs, behind the places that ask for them: a model that
    sees later tokens would read them off."""

    def input_size(self, length: int) -> int:
        """How many tokens an input of a length has: as many, unless a length counts other things.

        It grows with the length, or is one for all.

        Args:
            length: A length of the task.
        """
        return length

    @property
    def end(self) -> int | None:
        """The class by which an answer says that it has ended, if there is one."""
        return None

    @property
    def vocab(self) -> int:
        """How many tokens there are: 0..vocab-1."""
        return self.classes

    @property
    def token_names(self) -> tuple[str, ...]:
        """How a person writes each token."""
        return tuple(map(str, range(self.vocab)))

    @property
    def class_names(self) -> tuple[str, ...]:
        """How a person writes each class: as the token of its number, if there is one."""
        return (*self.token_names, *map(str, range(self.vocab, self.classes)))[: self.classes]

    @property
    def max_position(self) -> int:
        """How many position ids there are, so that learned positions know their number."""
        return self.input_size(self.lengths[-1])

    @property
    def tracks(self) -> int:
        """How many position ids a token has."""
        return 1

    @property
    def digits(self) -> range:
        """The tokens that are digits of numbers, for positions that are counted within a number."""
        return range(0)


class SetTask(Task):
    """A task over sets of items that can be drawn in parts, so that any number of them fits."""

    unit = "items"

    @property
    def item_width(self) -> int:
        """Number of features of an item."""
        raise NotImplementedError

    @property
    def query_width(self) -> int:
        """Number of features of the query."""
        raise NotImplementedError

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Draw `count` sets of `length` items from each stream of `key`."""
        items = self.draw_items(key, length, count, range(length))
        lookup = self.draw_lookups(key, length, count)
        return Batch(SetInput(items, lookup.query), lookup.label)

    @abstractmethod
    def draw_items(self, key: Tensor, length: int, count: int, part: range) -> Tensor:
        """The items of `draw` numbered by `part`: `(..., count, len(part), item_width)`.

        Args:
            key: Random streams, of any shape.
            length: How many items the whole set has.
            count: How many sets per stream.
            part: The numbers of the items to draw.
        """

    @abstractmethod
    def draw_lookups(self, key: Tensor, length: int, count: int) -> "Lookup":
        """All of `draw` but the items.

        Args:
            key: Random streams, of any shape.
            length: How many items a set has.
            count: How many sets per stream.
        """


class Lookup(NamedTuple):
    """The query, the right class, and the item that holds it."""

    query: Tensor
    """`(..., count, query features)`."""
    label: Tensor
    """The right class: `(..., count)`."""
    item: Tensor
    """The number of the item that holds it: `(..., count)`."""
