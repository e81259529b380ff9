"""Formal languages: after every prefix of a word, name a symbol that may follow, or its end."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy
import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks._base import Batch, TokenTask
from lengthwise.tasks._machines import Machine
from lengthwise.tasks._sets import examples

# What runs machines is imported where it is used: its compiler takes most of a second to load,
# which every command would wait for.

SCALES = 9
"""Into how many scales, each twice the one before, `lasting` spreads its words. Ours."""

LANGUAGE_DEFAULTS: Mapping[str, Any] = {
    "model": "gpt",
    # Lengths and batch are those of arXiv 2410.02140; the rest is ours, for training on a CPU.
    "max_train_length": 50,
    "batch": 64,
    "seeds": 1,
    "steps": 3000,
    "learning_rate": 1e-3,
    "test_inputs": 256,
}
"""How languages are trained unless told otherwise."""


@dataclass(frozen=True)
class Language(TokenTask):
    """Words of a language, one symbol after the other; whatever may follow is equally right.

    Tokens are the symbols 0..n-1, the end n and the begin n+1; classes are the symbols and the end.
    An input is the begin and the first symbols of a word, so that the first symbol is asked for,
    too, and a length counts the begin: length 1 is the empty word. A word goes on with a symbol
    drawn among those that are *live*: there is a word of the language that goes on so. The answer
    drawn for a prefix is another draw, uniform among the live symbols and, where the prefix is a
    word itself, the end. A word that cannot go on has the end as its only answer; from there on its
    input is filled up with the end, and nothing is asked.
    """

    prefixes = True
    legal_sets = True
    defaults: ClassVar[Mapping[str, Any]] = LANGUAGE_DEFAULTS

    longest: int = 150
    """The longest input."""

    lasting: bool = False
    """Whether words hesitate before steps of no return, such as the first b of a*b*. Each word then
    takes such a step with a chance of its own, 1/2, 1/4, ... or 1/512, and not as soon as all live
    symbols are equally likely: so that long words are not all alike, or over."""

    def __post_init__(self) -> None:
        require(self.longest >= 2, "longest", self.longest, "at least 2")

    @property
    @abstractmethod
    def alphabet(self) -> str:
        """The symbols, as a person writes them."""

    @abstractmethod
    def machine(self) -> Machine:
        """What reads the words."""

    @property
    def classes(self) -> int:
        """One class per symbol, and the end."""
        return len(self.alphabet) + 1

    @property
    def word_end(self) -> int:
        """The class that says that the word may end here; as a token, the padding behind it.

        It is not `end`: an answer is one symbol, and does not end by itself.
        """
        return len(self.alphabet)

    @property
    def vocab(self) -> int:
        """The symbols, the end and the begin."""
        return len(self.alphabet) + 2

    @property
    def token_names(self) -> tuple[str, ...]:
        """The symbols, END and BOS."""
        return (*self.alphabet, "END", "BOS")

    @property
    def lengths(self) -> range:
        """From the begin alone to the longest input."""
        return range(1, self.longest + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """The beginnings of words, and an answer after every symbol."""
        self._require_length(length)
        from lengthwise.tasks._steps import draw_words

        tables = _tables(self)
        example = examples(key.reshape(-1), count).reshape(-1)
        words = bits(at(example, 0), 3 * length).view(-1, length, 3)
        if self.lasting:
            scale = below(bits(at(example, 1), 1)[:, 0], SCALES) + 1
            leave = torch.ones_like(scale) << (32 - scale)
        else:
            leave = torch.zeros_like(example)
        tokens = torch.empty(len(example), length, dtype=torch.int64)
        labels = torch.empty_like(tokens)
        draw_words(
            words.cpu().numpy(),
            leave.cpu().numpy(),
            tables.machine,
            tables.order,
            tables.live,
            tables.stay,
            tables.accepts,
            tokens.numpy(),
            labels.numpy(),
        )
        shape = (*key.shape, count, length)
        return Batch(tokens.view(shape).to(key.device), labels.view(shape).to(key.device))

    def targets(self, inputs: Tensor) -> Tensor:
        """Equal on all that may follow, zero elsewhere; zero everywhere behind the end."""
        found = torch.from_numpy(self._configurations(inputs.reshape(-1, inputs.shape[-1])))
        return _tables(self).target[found].view(*inputs.shape, self.classes).to(inputs.device)

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All beginnings of words, where they are equally likely and not too many."""
        self._require_length(length)
        if self.lasting and self.machine().one_way:
            return None
        tables = _tables(self)
        words = numpy.full((1, 1), self.word_end + 1)
        # One over the probability. Exact as a float: of so few words, one has a small number here,
        # and all must have the same.
        rarity = numpy.ones(1)
        for _ in range(length - 1):
            configuration = self._configurations(torch.from_numpy(words))[:, -1]
            over = (configuration < 0) | (tables.live[configuration] == 0)
            count = numpy.where(over, 1, tables.live[configuration])
            if count.sum() > limit:
                return None
            row = numpy.repeat(numpy.arange(len(words)), count)
            number = numpy.arange(len(row)) - numpy.repeat(numpy.cumsum(count) - count, count)
            symbol = numpy.where(over[row], self.word_end, tables.order[configuration[row], number])
            words = numpy.column_stack([words[row], symbol])
            rarity = (rarity * count)[row]
        if len(words) > limit or (rarity != rarity[0]).any():
            return None
        return torch.from_numpy(words)

    def _configurations(self, tokens: Tensor) -> numpy.ndarray:
        from lengthwise.tasks._steps import read_words

        found = numpy.empty(tokens.shape, dtype=numpy.int64)
        read_words(tokens.cpu().contiguous().numpy(), _tables(self).machine, found)
        return found

    def _require_length(self, length: int) -> None:
        expected = f"one of 1..{self.longest}, the begin of the word included"
        require(length in self.lengths, "length", length, expected)


class _Tables(NamedTuple):
    """What compiled code reads of a machine."""

    machine: tuple[Any, ...]
    order: numpy.ndarray
    live: numpy.ndarray
    stay: numpy.ndarray
    accepts: numpy.ndarray
    target: Tensor
    """`(configurations + 1, classes)`: the target of each; the last one, -1, asks nothing."""


@cache
def _tables(language: Language) -> _Tables:
    machine = language.machine()
    legal = torch.from_numpy(machine.legal).to(torch.float32)
    # A table may have rows that no word reaches.
    uniform = legal / legal.sum(-1, keepdim=True).clamp(min=1)
    target = torch.nn.functional.pad(uniform, (0, 0, 0, 1))
    live = machine.moves >= 0
    # A stack is one row of memory; the counters are as many as there are.
    counters = (0,) if machine.stack else machine.counters
    start = 0 if machine.stack else machine.start
    return _Tables(
        machine=(
            numpy.ascontiguousarray(machine.moves),
            numpy.ascontiguousarray(machine.change),
            machine.stack,
            numpy.array(counters, dtype=numpy.int64),
            start,
        ),
        order=numpy.ascontiguousarray(machine.order),
        live=live.sum(1).astype(numpy.int64),
        stay=machine.stays.sum(1).astype(numpy.int64),
        accepts=machine.accepts.astype(numpy.int64),
        target=target,
    )
