"""String edits: copy, push, pop, shift, unshift, reverse and more, asked for by name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.randomness import below
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import task
from lengthwise.tasks._slots import EMPTY, compact
from lengthwise.tasks._splits import SPLITS, Split, count_split, split_bits
from lengthwise.tasks._words import draw_words

OPERATIONS = (
    "id",
    "push",
    "pop",
    "shift",
    "unshift",
    "reverse",
    "duplicate",
    "flip",
    "flip-reverse",
    "remove",
)
END, SEPARATOR, FIRST_OPERATION = 2, 3, 4
"""Tokens beside the letters a and b, which are 0 and 1."""

_FLIPS = torch.tensor([name.startswith("flip") for name in OPERATIONS])
_REMOVE = OPERATIONS.index("remove")


@task("string-edits")
@dataclass(frozen=True)
class StringEdits(AnswerTask):
    """A string of a and b, edited as its prompt says: `push b aba|abab`, `shift a aba|ba`.

    A prompt is the operation, a letter, the string and a separator. Push and unshift add the letter
    behind and before, pop and shift take the last and the first one away, flip changes every a to b
    and back, remove takes away all that are the letter; the others have no use for it. Operations
    and letters are drawn uniformly. (After arXiv 2109.07276, as its authors generate them later;
    that remove takes all is ours.) Trained in a band of lengths, it asks whether shorter strings
    fail as longer ones do. Of strings of at least four letters one in eight is held out (ours).
    """

    unit = "letters"
    end = END
    defaults: ClassVar[Mapping[str, Any]] = {
        # Bands and lengths of arXiv 2109.07276; steps, batch and rate are ours.
        "model": "gpt",
        "min_train_length": 11,
        "max_train_length": 15,
        "test_lengths": (1, 2, 4, 6, 8, 9, 10, 11, 13, 15, 16, 17, 18, 20, 25, 30),
        "test_inputs": 512,
        "steps": 3000,
        "batch": 64,
        "learning_rate": 1e-3,
        "beta2": 0.98,
    }

    operations: tuple[str, ...] = OPERATIONS
    """What may be asked for."""

    piece: int | None = None
    """The longest string of one edit: inputs of more letters join several, prompt behind prompt and
    answer behind answer, with strings as equal in length as may be (ours). Without it, all inputs
    are single edits."""

    longest: int = 40
    """The longest string. Ours."""

    split: Split = "train"
    """Which strings are drawn; tests are always on held-out ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", tuple(self.operations))
        require(len(self.operations) >= 1, "operations", self.operations, "at least one")
        for name in self.operations:
            require_name(name, OPERATIONS, "operations")
        once = len(set(self.operations)) == len(self.operations)
        require(once, "operations", self.operations, "each but once")
        require(self.longest >= 1, "longest", self.longest, "at least 1")
        require(self.piece is None or self.piece >= 1, "piece", self.piece, "at least 1")
        require_name(self.split, SPLITS, "split")

    @property
    def classes(self) -> int:
        """a, b and END."""
        return 3

    @property
    def vocab(self) -> int:
        """a, b, END, the separator and all operations."""
        return FIRST_OPERATION + len(OPERATIONS)

    @property
    def token_names(self) -> tuple[str, ...]:
        """Letters, and operations by their names."""
        return ("a", "b", "END", "|", *OPERATIONS)

    @property
    def lengths(self) -> range:
        """Strings of one letter or more."""
        return range(1, self.longest + 1)

    def held_out(self) -> Self:
        """Strings that cannot occur in training, but for the shortest."""
        return replace(self, split="held-out")

    def sizes(self, length: int) -> tuple[int, int]:
        """Operations, letters, strings and the separator; the longest answer and END."""
        sizes = self._piece_sizes(length)
        return length + 2 * len(sizes) + 1, sum(map(self._answer_size, sizes)) + 1

    def count_inputs(self, length: int) -> int:
        """All operations with either letter, of all strings of the split."""
        sizes = self._piece_sizes(length)
        return math.prod(len(self.operations) * 2 * count_split(n, self.split) for n in sizes)

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """An operation, a letter and a string for every piece, and the separator."""
        sizes = self._piece_sizes(length)
        words = draw_words(key, count, [part for size in sizes for part in (2, size)])
        numbers = [FIRST_OPERATION + OPERATIONS.index(name) for name in self.operations]
        choices = torch.tensor(numbers, device=key.device)
        parts = []
        for chosen, string in zip(words[::2], words[1::2], strict=True):
            operation = choices[below(chosen[..., :1], len(choices))]
            parts += [operation, below(chosen[..., 1:], 2), split_bits(string, self.split)]
        return functional.pad(torch.cat(parts, -1), (0, 1), value=SEPARATOR)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The edited strings and END."""
        sizes = self._piece_sizes(length)
        pieces = prompts[..., :-1].split([size + 2 for size in sizes], -1)
        answers = [self._edited(one, size) for one, size in zip(pieces, sizes, strict=True)]
        if len(sizes) == 1:
            return answers[0]
        joined = torch.cat([one[..., :-1] for one in answers], -1)
        joined = functional.pad(joined.masked_fill(joined == END, EMPTY), (0, 1), value=EMPTY)
        return compact(joined, END)

    def _piece_sizes(self, length: int) -> list[int]:
        """How many letters each piece has."""
        count = 1 if self.piece is None else -(-length // self.piece)
        return [(length + place) // count for place in reversed(range(count))]

    def _answer_size(self, length: int) -> int:
        """How many letters the longest answer to one piece has."""
        return max(2 * length if "duplicate" in self.operations else length, length + 1)

    def _edited(self, piece: Tensor, length: int) -> Tensor:
        """The answer to an operation, a letter and a string, with END."""
        size = self._answer_size(length) + 1
        operation, letter = piece[..., 0] - FIRST_OPERATION, piece[..., 1:2]
        string = piece[..., 2:]
        flipped = string ^ _FLIPS.to(piece.device)[operation].unsqueeze(-1)
        known = functional.pad(torch.cat([flipped, letter], -1), (0, 1), value=END)
        answer = known.gather(-1, _sources(length, size).to(piece.device)[operation])
        if "remove" not in self.operations:
            return answer
        left = functional.pad(
            string.masked_fill(string == letter, EMPTY), (0, size - length), value=END
        )
        return torch.where((operation == _REMOVE).unsqueeze(-1), compact(left, END), answer)


@cache
def _sources(length: int, size: int) -> Tensor:
    """Where each operation takes each letter of its answer from: `(operations, size)`.

    Places 0..length-1 are the string's, `length` is the letter and `length + 1` is END.
    """
    string, letter, end = list(range(length)), [length], [length + 1]
    answers = {
        "push": string + letter,
        "pop": string[:-1],
        "shift": string[1:],
        "unshift": letter + string,
        "reverse": string[::-1],
        "duplicate": string + string,
        "flip-reverse": string[::-1],
    }
    rows = [(answers.get(name, string) + end * size)[:size] for name in OPERATIONS]
    return torch.tensor(rows)
