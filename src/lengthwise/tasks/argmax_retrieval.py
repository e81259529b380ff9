"""Argmax retrieval: the class of the item with the highest priority (arXiv 2410.01104)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits, unit
from lengthwise.tasks._base import Lookup, SetInput, SetTask, task
from lengthwise.tasks._sets import LONGEST, SET_DEFAULTS, even, examples, one_hot


@task("argmax-retrieval")
@dataclass(frozen=True)
class ArgmaxRetrieval(SetTask):
    """Items with a priority and a class, both uniform; the answer is the class of the highest one.

    An item is its priority followed by its class as one-hot. The query is a uniform number that
    says nothing.
    """

    defaults = SET_DEFAULTS

    classes: int = 10
    """Number of answers."""

    def __post_init__(self) -> None:
        require(self.classes >= 2, "classes", self.classes, "at least 2")

    @property
    def lengths(self) -> range:
        """Any number of items."""
        return range(1, LONGEST + 1)

    @property
    def item_width(self) -> int:
        """The priority and one feature per class."""
        return 1 + self.classes

    @property
    def query_width(self) -> int:
        """One number."""
        return 1

    def draw_items(self, key: Tensor, length: int, count: int, part: range) -> Tensor:
        """The items of `draw` whose numbers are in `part`."""
        self._require_length(length)
        priority, label = self._priorities_and_labels(key, count, part)
        return torch.cat([priority.unsqueeze(-1), one_hot(label, self.classes)], -1)

    def draw_lookups(self, key: Tensor, length: int, count: int) -> Lookup:
        """All of `draw` but the items."""
        self._require_length(length)
        priority, label = self._priorities_and_labels(key, count, range(length))
        item = priority.argmax(-1)
        answer = label.gather(-1, item.unsqueeze(-1)).squeeze(-1)
        query = unit(bits(at(examples(key, count), 1), 1))
        return Lookup(query, answer, item)

    def targets(self, inputs: SetInput) -> Tensor:
        """The class of the highest priority; items that share it share the target."""
        priority, label = inputs.items[..., 0], inputs.items[..., 1:]
        highest = (priority == priority.amax(-1, keepdim=True)).to(label.dtype)
        return (highest.unsqueeze(-2) @ label).squeeze(-2) / highest.sum(-1, keepdim=True)

    def answer_rates(self, length: int) -> Tensor:
        """All classes are equally likely at any number of items."""
        return even(self.classes)

    def _priorities_and_labels(self, key: Tensor, count: int, part: range) -> tuple[Tensor, Tensor]:
        words = bits(at(examples(key, count), 0), 2 * len(part), 2 * part.start)
        words = words.unflatten(-1, (-1, 2))
        return unit(words[..., 0]), below(words[..., 1], self.classes)

    def _require_length(self, length: int) -> None:
        require(length in self.lengths, "length", length, f"a number of items, 1..{LONGEST}")
