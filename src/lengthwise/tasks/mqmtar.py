"""Multi-query multi-token associative recall: keys and values of several tokens."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import below
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import task
from lengthwise.tasks._slots import EMPTY, compact
from lengthwise.tasks._words import distinct, draw_words


@task("mqmtar")
@dataclass(frozen=True)
class MultiTokenRecall(AnswerTask):
    """Pairs of a key and a value of several tokens, some keys, and their values as the answer.

    A length is the number of pairs. An input is `ab:cd  ef:gh ?ef?ab=?gh?cd`: pairs with one or
    more blanks behind each, then keys to look up, drawn with replacement, and as the answer
    their values in that order. (MQMTAR of arXiv 2506.16640. There a length counts tokens, and keys
    and values are those of a fixed list of 10,000; here they are any, and the keys of an input
    distinct.)
    """

    unit = "pairs"
    defaults: ClassVar[Mapping[str, Any]] = {
        # The paper trains on 32..64 tokens, 5..8 pairs, and has 256 symbols; the rest is ours.
        "model": "gpt",
        "min_train_length": 4,
        "max_train_length": 8,
        "test_lengths": (1, 2, 4, 6, 8, 9, 10, 12, 16, 24, 32, 64),
        "test_inputs": 512,
        "steps": 6000,
        "batch": 64,
        "learning_rate": 1e-3,
    }

    symbols: int = 32
    """How many symbols keys and values are made of. Ours; the paper has 256."""

    key_size: int = 2
    """Symbols of a key."""

    value_size: int = 2
    """Symbols of a value."""

    queries: int = 4
    """How many keys are looked up."""

    blanks: int = 3
    """The most blanks behind a pair, beside the one that is always there."""

    longest: int = 64
    """The most pairs. Ours."""

    def __post_init__(self) -> None:
        require(self.symbols >= 2, "symbols", self.symbols, "at least 2")
        for name in ("key_size", "value_size", "queries", "longest"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.blanks >= 0, "blanks", self.blanks, "at least 0")
        keys = self.symbols**self.key_size
        expected = "so few symbols that there are at most 2^20 keys"
        require(keys <= 1 << 20, "key_size", self.key_size, expected)
        expected = f"at most {keys}, as there are no more keys"
        require(self.longest <= keys, "longest", self.longest, expected)

    @property
    def classes(self) -> int:
        """Symbols, ? and END."""
        return self.symbols + 2

    @property
    def vocab(self) -> int:
        """Symbols, ?, END, and in prompts the colon, the blank and =."""
        return self.symbols + 5

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        return self.symbols + 1

    @property
    def separator(self) -> int:
        """`=`: prompts differ in their blanks."""
        return self.symbols + 4

    @property
    def token_names(self) -> tuple[str, ...]:
        """Symbols by their numbers."""
        return (*map(str, range(self.symbols)), "?", "END", ":", "_", "=")

    @property
    def lengths(self) -> range:
        """One pair or more."""
        return range(1, self.longest + 1)

    def sizes(self, length: int) -> tuple[int, int]:
        """Pairs with their blanks, keys to look up and =; values and END."""
        pair = self.key_size + 1 + self.value_size + 1 + self.blanks
        prompt = length * pair + self.queries * (1 + self.key_size) + 1
        return prompt, self.queries * (1 + self.value_size) + 1

    def count_inputs(self, length: int) -> int:
        """Distinct keys in order, any values, blanks and queries."""
        keys = math.perm(self.symbols**self.key_size, length)
        behind = self.symbols**self.value_size * (1 + self.blanks)
        return keys * behind**length * length**self.queries

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Pairs, and keys to look up."""
        ask, _, colon, blank = range(self.symbols, self.symbols + 4)
        parts = (length, length * self.value_size, length, self.queries)
        chosen, values, blanks, queries = draw_words(key, count, parts)
        powers = self.symbols ** torch.arange(self.key_size, device=key.device)
        numbers = distinct(chosen, self.symbols**self.key_size)
        keys = numbers.unsqueeze(-1) // powers % self.symbols
        more = torch.arange(1 + self.blanks, device=key.device)
        fewer = more > below(blanks, 1 + self.blanks).unsqueeze(-1)
        behind = torch.where(fewer, EMPTY, blank)
        values = below(values, self.symbols).unflatten(-1, (length, self.value_size))
        pairs = torch.cat([functional.pad(keys, (0, 1), value=colon), values, behind], -1)
        place = below(queries, length).unsqueeze(-1).expand(*queries.shape, self.key_size)
        asked = functional.pad(keys.gather(-2, place), (1, 0), value=ask)
        slots = torch.cat([pairs.flatten(-2), asked.flatten(-2)], -1)
        return compact(functional.pad(slots, (0, 1), value=self.separator), self.end)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The values of the keys, and END."""
        ask, colon = self.symbols, self.symbols + 2
        # The number of the key that ends at each place.
        before = functional.pad(prompts, (self.key_size - 1, 0)).unfold(-1, self.key_size, 1)
        powers = self.symbols ** torch.arange(self.key_size, device=prompts.device)
        numbers = (before * powers).sum(-1)
        ends = (prompts == self.separator).to(torch.int8).argmax(-1, keepdim=True)
        last = torch.arange(self.queries - 1, -1, -1, device=prompts.device) * (1 + self.key_size)
        wanted = numbers.gather(-1, ends - 1 - last)
        keyed = numbers[..., :-1].masked_fill(prompts[..., 1:] != colon, -1)
        found = (keyed.unsqueeze(-2) == wanted.unsqueeze(-1)).to(torch.int8).argmax(-1)
        offsets = torch.arange(2, 2 + self.value_size, device=prompts.device)
        places = (found.unsqueeze(-1) + offsets).flatten(-2)
        values = prompts.gather(-1, places).unflatten(-1, (self.queries, self.value_size))
        answer = functional.pad(values, (1, 0), value=ask).flatten(-2)
        return functional.pad(answer, (0, 1), value=self.end)
