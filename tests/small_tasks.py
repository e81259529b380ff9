"""Small tasks of other kinds: lengths from 3 on, one answer at the end, numbers as answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import below, bits, unit
from lengthwise.tasks import IGNORE_INDEX, AnswerTask, Batch, Tokens, TokenTask, task

LONGEST = 7


def binary_words(key: Tensor, length: int, count: int) -> Tensor:
    """Words of 0 and 1, `(*key, count, length)`; a shorter draw is the beginning of a longer."""
    words = bits(key, count * LONGEST).unflatten(-1, (count, LONGEST))
    return (words[..., :length] & 1).long()


@task("parity-at-the-end")
@dataclass(frozen=True)
class Parity(TokenTask):
    """Whether a word has an odd number of ones; asked once, at the end."""

    defaults: ClassVar[Mapping[str, Any]] = {"model": "gpt", "max_train_length": 5}

    first: int = 3

    @property
    def classes(self) -> int:
        return 2

    @property
    def lengths(self) -> range:
        return range(self.first, LONGEST + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = binary_words(key, length, count)
        return Batch(words, words.sum(-1) % 2)

    def targets(self, inputs: Tensor) -> Tensor:
        return functional.one_hot(inputs.sum(-1) % 2, 2).float()


@task("padded-parity")
@dataclass(frozen=True)
class PaddedParity(Parity):
    """Parity of words with padding in front of them or behind, which a mask shows."""

    padded: Literal["front", "end"] = "front"

    @property
    def max_position(self) -> int:
        return LONGEST + 2

    def input_size(self, length: int) -> int:
        return length + 2

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = binary_words(key, length, count)
        ends = (2, 0) if self.padded == "front" else (0, 2)
        mask = functional.pad(torch.ones_like(words, dtype=torch.bool), ends, value=False)
        return Batch(Tokens(functional.pad(words, ends), mask=mask), words.sum(-1) % 2)

    def targets(self, inputs: Tokens) -> Tensor:  # type: ignore[override]
        return functional.one_hot(inputs.tokens.sum(-1) % 2, 2).float()


@task("parity-of-prefixes")
@dataclass(frozen=True)
class PrefixParity(Parity):
    """The same, asked after every prefix that is long enough."""

    prefixes = True

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = binary_words(key, length, count)
        asked = torch.arange(1, length + 1) >= self.first
        return Batch(words, (words.cumsum(-1) % 2).where(asked, IGNORE_INDEX))

    def targets(self, inputs: Tensor) -> Tensor:
        asked = torch.arange(1, inputs.shape[-1] + 1) >= self.first
        return functional.one_hot(inputs.cumsum(-1) % 2, 2).float() * asked.unsqueeze(-1)


@task("parity-places")
@dataclass(frozen=True)
class PlacesParity(Parity):
    """Asked at the last two places only; prefixes of an input are no inputs."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = binary_words(key, length, count)
        asked = torch.arange(length) >= length - 2
        return Batch(words, (words.cumsum(-1) % 2).where(asked, IGNORE_INDEX))

    def targets(self, inputs: Tensor) -> Tensor:
        asked = torch.arange(inputs.shape[-1]) >= inputs.shape[-1] - 2
        return functional.one_hot(inputs.cumsum(-1) % 2, 2).float() * asked.unsqueeze(-1)


@task("ones-first")
@dataclass(frozen=True)
class OnesFirst(AnswerTask):
    """A word, then SEP (2), then as many ones as it has, and END (3): answers of every length."""

    unit = "bits"
    end = 3

    @property
    def classes(self) -> int:
        return 4

    @property
    def lengths(self) -> range:
        return range(2, LONGEST + 1)

    def sizes(self, length: int) -> tuple[int, int]:
        return length + 1, length + 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        return functional.pad(binary_words(key, length, count), (0, 1), value=2)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        ones = prompts[..., :length].sum(-1, keepdim=True)
        return torch.where(torch.arange(length + 1) < ones, 1, self.end)


@task("running-mean")
@dataclass(frozen=True)
class RunningMean(TokenTask):
    """Numbers as answers: after every place the mean of the tokens so far, with noise."""

    prefixes = True
    numbers = True
    defaults: ClassVar[Mapping[str, Any]] = {"model": "gpt", "max_train_length": 5}

    vocab = 5
    outputs = 2

    @property
    def lengths(self) -> range:
        return range(1, LONGEST + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        require(length in self.lengths, "length", length, f"one of 1..{LONGEST}")
        words = bits(key, count * LONGEST * 3).unflatten(-1, (count, LONGEST, 3))[..., :length, :]
        tokens = below(words[..., 0], self.vocab)
        return Batch(tokens, self.targets(tokens) + unit(words[..., 1:]) - 0.5)

    def targets(self, inputs: Tensor) -> Tensor:
        mean = inputs.cumsum(-1) / torch.arange(1, inputs.shape[-1] + 1)
        return torch.stack([mean, -mean], -1)

    def variances(self, inputs: Tensor) -> Tensor:
        return torch.full((*inputs.shape, 2), 1 / 12)


@task("zeros-out")
@dataclass(frozen=True)
class ZerosOut(AnswerTask):
    """As many zeros as a word of up to `length` bits begins with: prompts of several sizes."""

    separator = 2
    end = 3

    @property
    def classes(self) -> int:
        return 4

    @property
    def lengths(self) -> range:
        return range(1, LONGEST + 1)

    def sizes(self, length: int) -> tuple[int, int]:
        return length + 1, length + 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        words = functional.pad(binary_words(key, LONGEST, count), (0, 1))[..., : length + 1]
        sizes = words.sum(-1, keepdim=True).clamp(max=length)
        places = torch.arange(length + 1)
        return words.where(places < sizes, torch.where(places == sizes, 2, 3))

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        zeros = (prompts == 0).cumprod(-1).sum(-1, keepdim=True)
        return torch.where(torch.arange(length + 1) < zeros, 0, self.end)
