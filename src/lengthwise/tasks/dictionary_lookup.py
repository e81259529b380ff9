"""Dictionary lookup: the value of the key that is asked for (arXiv 2504.02827)."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.randomness import address, at, below, bits_at
from lengthwise.tasks._base import Lookup, SetInput, SetTask, task
from lengthwise.tasks._sets import (
    LONGEST,
    SET_DEFAULTS,
    directions,
    even,
    examples,
    one_hot,
    shuffled,
)
from lengthwise.tasks._words import words_of

KEYS = ("vectors", "symbols", "repeating")

_VALUES, _KEYS, _ASKED = range(3)
"""The streams of an example."""


@task("dictionary-lookup")
@dataclass(frozen=True)
class DictionaryLookup(SetTask):
    """Pairs of a key and a value, and a query that is one of the keys: name its value.

    An item is its key followed by its value as one-hot; the query is a key. A key is a vector of
    length 1. With `keys="vectors"` it is new for every item, so keys are distinct at any number of
    items. With "symbols" it is the fixed code of one of `symbols` symbols, none twice in a set.
    With "repeating" symbols are drawn with replacement, and a symbol has one value within a
    set; the more items there are the more of them are right. (The paper does not say what its keys
    are: all of this is ours.)
    """

    defaults = SET_DEFAULTS

    classes: int = 10
    """Number of answers."""

    keys: Literal["vectors", "symbols", "repeating"] = "vectors"
    """New random vectors of length 1 in every set, or symbols with a vector each, none twice in a
    set or drawn with replacement. The paper does not say; ours."""

    key_width: int = 16
    """Width of a key. Ours."""

    symbols: int = 1 << 14
    """How many symbols there are, where keys are symbols. Ours."""

    def __post_init__(self) -> None:
        require(self.classes >= 2, "classes", self.classes, "at least 2")
        require_name(self.keys, KEYS, "keys")
        require(self.key_width >= 4, "key_width", self.key_width, "at least 4, so that keys differ")
        require(self.symbols >= 1, "symbols", self.symbols, "at least 1")

    @property
    def lengths(self) -> range:
        """Any number of items, but no more than there are distinct symbols."""
        return range(1, 1 + (self.symbols if self.keys == "symbols" else LONGEST))

    @property
    def item_width(self) -> int:
        """A key and one feature per class."""
        return self.key_width + self.classes

    @property
    def query_width(self) -> int:
        """A key."""
        return self.key_width

    def draw_items(self, key: Tensor, length: int, count: int, part: range) -> Tensor:
        """The items of `draw` whose numbers are in `part`."""
        self._require_length(length)
        streams = examples(key, count)
        numbers = torch.arange(part.start, part.stop, device=key.device)
        if self.keys == "vectors":
            keys = directions(at(at(streams, _KEYS).unsqueeze(-1), numbers), self.key_width)
            words = words_of(streams, _VALUES, len(part), part.start)
            labels = below(words, self.classes)
        else:
            symbols = self._symbols(streams, numbers)
            keys = self._codes(key.device)[symbols]
            labels = self._labels(streams, symbols)
        return torch.cat([keys, one_hot(labels, self.classes)], -1)

    def draw_lookups(self, key: Tensor, length: int, count: int) -> Lookup:
        """All of `draw` but the items."""
        self._require_length(length)
        streams = examples(key, count)
        item = below(words_of(streams, _ASKED, 1), length)
        if self.keys == "vectors":
            query = directions(at(at(streams, _KEYS), item.squeeze(-1)), self.key_width)
            answer = self._labels(streams, item)
        else:
            symbols = self._symbols(streams, item)
            query = self._codes(key.device)[symbols].squeeze(-2)
            answer = self._labels(streams, symbols)
        return Lookup(query, answer.squeeze(-1), item.squeeze(-1))

    def targets(self, inputs: SetInput) -> Tensor:
        """The value of the items whose key is the query."""
        keys, labels = inputs.items.split([self.key_width, self.classes], -1)
        right = (keys == inputs.query.unsqueeze(-2)).all(-1).to(labels.dtype)
        return (right.unsqueeze(-2) @ labels).squeeze(-2) / right.sum(-1, keepdim=True)

    def answer_rates(self, length: int) -> Tensor:
        """All classes are equally likely at any number of items."""
        return even(self.classes)

    def _symbols(self, streams: Tensor, numbers: Tensor) -> Tensor:
        """The symbols of items of each set by their numbers: `(..., len(numbers))`."""
        if self.keys == "symbols":
            return shuffled(at(streams, _KEYS), numbers, self.symbols)
        return below(bits_at(at(streams, _KEYS), numbers), self.symbols)

    def _labels(self, streams: Tensor, numbers: Tensor) -> Tensor:
        """The values of items of each set, by number or by symbol."""
        return below(bits_at(at(streams, _VALUES), numbers), self.classes)

    def _codes(self, device: torch.device) -> Tensor:
        return _codes(self.symbols, self.key_width).to(device)

    def _require_length(self, length: int) -> None:
        if self.keys == "symbols":
            expected = f"1..{self.symbols}, as no more keys are distinct (field symbols)"
        else:
            expected = f"a number of items, 1..{LONGEST}"
        require(length in self.lengths, "length", length, expected)


@cache
def _codes(symbols: int, width: int) -> Tensor:
    """The vector of every symbol, the same in every set."""
    stream = torch.tensor(address("dictionary-lookup", "symbols"))
    return directions(at(stream, torch.arange(symbols)), width)
