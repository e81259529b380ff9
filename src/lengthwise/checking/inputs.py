"""What is put into a model: documents, sequences to copy, and haystacks with needles."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lengthwise.checking.needles import Needles
from lengthwise.errors import require
from lengthwise.probing.inputs import Vocabulary
from lengthwise.randomness import address

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TARGETS = 128
"""On so many tokens at the end of a document the loss is taken. Ours."""

SAMPLED, FEWEST, MOST = 8, 64, 2048
"""One in so many positions is scored where all would do, at least and at most so many: the head
costs about as much as several layers. Ours."""

BLOCK = 32
"""Tokens of a block that is copied out of order; fewer in short sequences. Ours."""

CUE = 8
"""So many tokens of a block are given before the rest is scored: they say which one it is; at most
a quarter of the block. Ours."""


@dataclass(frozen=True)
class Copying:
    """Random sequences whose second half repeats the first, whole or block by block."""

    ids: Tensor
    """`(sequences, length)`."""
    copied: Tensor
    """Positions in the second half that are scored."""
    distance: Tensor
    """`(sequences, copied)`: how far back the same token stands."""
    fresh: Tensor
    """Positions in the first half that are scored: nothing there can be copied."""


@dataclass(frozen=True)
class Inputs:
    """Makes the sequences of any length: the same ones for the same seed and length."""

    vocabulary: Vocabulary
    text: Tensor
    tokenizer: "PreTrainedTokenizerBase | None"
    documents: int
    targets: int
    seed: int

    @cached_property
    def needles(self) -> Needles:
        """What is hidden in haystacks."""
        return Needles.of(self.tokenizer, self.vocabulary.ordinary, self.seed)

    def require_lengths(self, lengths: Sequence[int]) -> None:
        """Raise unless the text has documents of the longest length that do not overlap."""
        needed = self.documents * lengths[-1]
        require(
            len(self.text) >= needed, "text", f"{len(self.text)} tokens",
            f"at least {needed} tokens, for {self.documents} documents of length {lengths[-1]} "
            "that do not overlap; give a longer text, fewer documents or shorter lengths",
        )  # fmt: skip

    def document(self, number: int, length: int) -> Tensor:
        """The `length` tokens that end where document `number` ends, whatever the length."""
        end = len(self.text) * (number + 1) // self.documents
        start = torch.tensor(self.vocabulary.start, dtype=torch.long)
        return torch.cat((start, self.text[end - (length - len(start)) : end]))

    def reading(self, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """All documents `(documents, length)`, positions of the targets, and sampled positions."""
        ids = torch.stack([self.document(number, length) for number in range(self.documents)])
        targets = torch.arange(length - self.targets, length)
        first = len(self.vocabulary.start) + 1
        return ids, targets, _sampled(torch.arange(first, length), length)

    def copying(self, length: int, sequences: int, shuffled: bool = False) -> Copying:
        """Sequences to copy. What does not go into two halves of whole blocks stands in front.

        Args:
            length: Of the sequences.
            sequences: How many.
            shuffled: Whether the second half has the blocks of the first in another order, so that
                distances differ within a sequence; else it is the first half once more.
        """
        kind = "shuffled copy" if shuffled else "copy"
        generator = torch.Generator().manual_seed(address(self.seed, kind, length))
        start = torch.tensor(self.vocabulary.start, dtype=torch.long)
        half = (length - len(start)) // 2
        block = min(BLOCK, max(2, half // 4)) if shuffled else half
        blocks = half // block
        ordinary = self.vocabulary.ordinary
        front = length - 2 * blocks * block
        drawn = torch.randint(
            len(ordinary), (sequences, front + blocks * block), generator=generator
        )
        body = ordinary[drawn]
        body[:, : len(start)] = start
        orders = torch.empty(sequences, blocks, dtype=torch.long)
        for order in orders:
            order.copy_(torch.randperm(blocks, generator=generator))
        first = body[:, front:].unflatten(1, (blocks, block))
        second = first.gather(1, orders.unsqueeze(-1).expand(-1, -1, block)).flatten(1)
        inside = torch.arange(blocks * block)
        scored = _sampled(inside[inside % block >= max(1, min(block // 4, CUE))], length)
        source = orders[:, scored // block] * block + scored % block
        return Copying(
            torch.cat((body, second), 1),
            front + blocks * block + scored,
            scored + blocks * block - source,
            front + _sampled(inside[1:], 0),
        )


def _sampled(values: Tensor, length: int) -> Tensor:
    """Some of the values, at even distances, the last one among them; how many, length says."""
    count = min(max(length // SAMPLED, FEWEST), MOST)
    if len(values) <= count:
        return values
    return values[torch.arange(1, count + 1) * len(values) // count - 1]
