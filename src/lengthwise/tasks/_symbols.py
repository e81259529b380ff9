"""Tasks over strings of symbols, as arXiv 2410.02140 writes them: BOS x SEP y END."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._sets import examples

LONGEST = 150
"""The longest string that arXiv 2410.02140 tests."""

SYMBOL_DEFAULTS: Mapping[str, Any] = {
    "model": "gpt",
    # Lengths, batch, rate and decay are those of arXiv 2410.02140 (30k steps, a rate that falls
    # linearly, 2000 tests per 50 lengths); the rest is ours, for training on a CPU.
    "min_train_length": 1,
    "max_train_length": 50,
    "batch": 64,
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "seeds": 1,
    "steps": 3000,
    "test_lengths": tuple(range(10, LONGEST + 1, 10)),
    "test_inputs": 128,
}
"""How tasks over symbols are trained unless told otherwise."""


@dataclass(frozen=True)
class SymbolTask(AnswerTask):
    """A string of symbols, and a string that follows from it.

    Tokens are the symbols 0..n-1, then END, SEP and BOS; the classes end with END. A length counts
    the symbols of the first string. (The paper adds a random offset to positions in training; here
    that is a remedy.)
    """

    unit = "symbols"
    defaults: ClassVar[Mapping[str, Any]] = SYMBOL_DEFAULTS

    longest: int = LONGEST
    """The longest string."""

    def __post_init__(self) -> None:
        require(self.longest >= 2, "longest", self.longest, "at least 2")

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The symbols, as a person writes them."""

    @abstractmethod
    def strings(self, example: Tensor, length: int) -> Tensor:
        """Draw the first string out of the stream of every example: `(*example.shape, ...)`."""

    @abstractmethod
    def answer(self, strings: Tensor) -> Tensor:
        """The second string, without END: `(..., at most as the task says)`."""

    def every_string(self, length: int, limit: int) -> Tensor | None:
        """All first strings of a length, equally likely, or None: as for `enumerate_inputs`."""
        return None

    def answer_size(self, length: int) -> int:
        """How many symbols the second string has at most."""
        return length

    @property
    def classes(self) -> int:
        """The symbols, and END."""
        return len(self.names) + 1

    @property
    def end(self) -> int:
        """The token behind the symbols."""
        return len(self.names)

    @property
    def vocab(self) -> int:
        """The symbols, END, SEP and BOS."""
        return len(self.names) + 3

    @property
    def token_names(self) -> tuple[str, ...]:
        """The symbols, END, SEP and BOS."""
        return (*self.names, "END", "SEP", "BOS")

    @property
    def lengths(self) -> range:
        """Any string of one symbol or more."""
        return range(1, self.longest + 1)

    def string_size(self, length: int) -> int:
        """How many symbols the first string has."""
        return length

    def sizes(self, length: int) -> tuple[int, int]:
        """BOS, the string and SEP; the answer and END."""
        return self.string_size(length) + 2, self.answer_size(length) + 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Strings between BOS and SEP."""
        return self._between(self.strings(examples(key, count), length))

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The second string and END."""
        answer = self.answer(prompts[..., 1:-1])
        return functional.pad(answer, (0, self.sizes(length)[1] - answer.shape[-1]), value=self.end)

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All strings with their answers, where they are equally likely and not too many."""
        strings = self.every_string(length, limit)
        if strings is None:
            return None
        prompts = self._between(strings)
        return torch.cat([prompts, self.answers(prompts, length)[..., :-1]], -1)

    def _between(self, strings: Tensor) -> Tensor:
        begun = functional.pad(strings, (1, 0), value=self.vocab - 1)
        return functional.pad(begun, (0, 1), value=self.vocab - 2)


def uniform(example: Tensor, length: int, symbols: int) -> Tensor:
    """Strings of independent symbols, all equally likely."""
    return below(bits(example, length), symbols)


def every_string(symbols: int, length: int, limit: int) -> Tensor | None:
    """All strings of a length, or None where they are more than `limit`."""
    if symbols**length > limit:
        return None
    numbers = torch.arange(symbols**length).unsqueeze(-1)
    return numbers // symbols ** torch.arange(length - 1, -1, -1) % symbols


def orders(example: Tensor, size: int) -> Tensor:
    """A random order of 0..size-1 for each example."""
    return bits(example, size).argsort(stable=True, dim=-1)


def with_ones(example: Tensor, length: int, ones: Tensor) -> Tensor:
    """Strings of 0 and 1 in random order, with as many ones as is said: `(*example.shape,)`."""
    return (orders(example, length) < ones.unsqueeze(-1)).long()


def any_number(example: Tensor, most: int) -> Tensor:
    """A number of 0..most for each example."""
    return below(bits(at(example, 0), 1), most + 1).squeeze(-1)


def counts(strings: Tensor, symbols: int) -> Tensor:
    """How often each symbol stands in a string: `(..., symbols)`."""
    found = torch.zeros(*strings.shape[:-1], symbols, dtype=torch.int64, device=strings.device)
    return found.scatter_add(-1, strings, torch.ones_like(strings))
