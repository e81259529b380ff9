"""Flip-flop: read the bit that was written last, whatever stands between."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import below, unit
from lengthwise.tasks._base import IGNORE_INDEX, Batch, TokenTask, task
from lengthwise.tasks._sets import one_hot
from lengthwise.tasks._words import draw_words

WRITE, IGNORE, READ = 2, 3, 4
"""Tokens beside the bits 0 and 1."""


@task("flip-flop")
@dataclass(frozen=True)
class FlipFlop(TokenTask):
    """Instructions with a bit each: `w1 i0 i0 r1 w0 r`; what a read gives is asked for.

    A length is the number of instructions. The first writes and the last reads; in between, one
    ignores its bit with the probability `ignore`, and writes and reads are equally likely. Bits are
    uniform, but after a read there is the one that was written last. (FFL of arXiv 2306.00946,
    where the bits of reads are what counts; all other tokens could only be guessed and are not
    asked for.)
    """

    unit = "instructions"
    autoregressive = True
    defaults: ClassVar[Mapping[str, Any]] = {
        # The paper trains on 256 instructions with ignore = 0.8; lengths and steps are ours.
        "model": "gpt",
        "min_train_length": 2,
        "max_train_length": 32,
        "test_lengths": (2, 4, 8, 16, 24, 32, 40, 48, 64, 96, 128, 256),
        "test_inputs": 512,
        "steps": 4000,
        "batch": 32,
        "learning_rate": 1e-3,
    }

    ignore: float = 0.8
    """How likely an instruction is to be ignored. Sparse tests of the paper have 0.98."""

    longest: int = 256
    """The most instructions."""

    def __post_init__(self) -> None:
        require(0 <= self.ignore <= 1, "ignore", self.ignore, "a probability in [0, 1]")
        require(self.longest >= 2, "longest", self.longest, "at least 2: a write and a read")

    @property
    def classes(self) -> int:
        """A bit."""
        return 2

    @property
    def vocab(self) -> int:
        """Bits and instructions."""
        return 5

    @property
    def lengths(self) -> range:
        """A write, a read, and any number in between."""
        return range(2, self.longest + 1)

    @property
    def token_names(self) -> tuple[str, ...]:
        """As in the paper."""
        return ("0", "1", "w", "i", "r")

    def input_size(self, length: int) -> int:
        """Instructions with their bits, but for the last."""
        return 2 * length - 1

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Instructions and bits; labels are the bits of reads."""
        require(length in self.lengths, "length", length, f"one of 2..{self.longest}")
        words, more = draw_words(key, count, (length, length))
        chance, bits = unit(words), below(more, 2)
        active = torch.where(chance < (1 + self.ignore) / 2, WRITE, READ)
        instructions = active.masked_fill(chance < self.ignore, IGNORE)
        instructions[..., 0], instructions[..., -1] = WRITE, READ
        kept, reads = _written_last(instructions, bits), instructions == READ
        bits, nothing = torch.where(reads, kept, bits), torch.full_like(bits, IGNORE_INDEX)
        labels = torch.stack([kept.where(reads, nothing), nothing], -1)
        tokens = torch.stack([instructions, bits], -1)
        return Batch(tokens.flatten(-2)[..., :-1], labels.flatten(-2)[..., :-1])

    def targets(self, inputs: Tensor) -> Tensor:
        """All mass on the bit that was written last, after a read."""
        instructions, bits = inputs[..., ::2], torch.nn.functional.pad(inputs[..., 1::2], (0, 1))
        kept = _written_last(instructions, bits).repeat_interleave(2, -1)[..., :-1]
        return one_hot(kept, 2) * (inputs == READ).unsqueeze(-1)


def _written_last(instructions: Tensor, bits: Tensor) -> Tensor:
    """The bit of the last write up to each instruction."""
    places = torch.arange(instructions.shape[-1], device=instructions.device)
    last = places.where(instructions == WRITE, 0).cummax(-1).values
    return bits.gather(-1, last)
