"""Blockwise causal attention, for reading longer inputs than training had (arXiv 2212.10554)."""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape


@remedy("blockwise")
class Blockwise(Remedy):
    """A token sees its own block and the one before, of half the training length (2212.10554).

    With l the longest input of training and blocks of b = l/2 tokens (rounded up), token n sees
    token m <= n if floor(m / b) >= floor(n / b) - 1. Up to l tokens that hides nothing, so training
    is the same with it and without; at any greater length every token past the first block sees
    l/2 + 1 to l keys, as many as in training, and nothing further back. It is meant for a model
    that was trained without it (`test_remedies`), with whatever positions; the paper has `xpos`. It
    is not a sliding window, which would move with every token. Padding is not counted as a token.
    Where later keys are seen, they are those up to the next block (ours; the paper is causal).
    """

    per_layer = False
    ordered = True

    def __init__(self, shape: Shape, *, length: int = 0) -> None:
        """Blocks of half of `length` tokens (default, 0: of the longest input of training)."""
        super().__init__(shape)
        require(length >= 0, "blockwise:length", length, "at least 1, or 0 for that of training")
        self.block = ((length or shape.max_train_length) + 1) // 2

    @property
    def replaces(self) -> str:
        """Which keys are seen."""
        return "which keys are seen"

    def visible(self, read: Keys) -> Tensor:
        """Whether keys are near enough."""
        seen = read.log_count > -torch.inf
        places = seen.tril().sum(-1) - 1
        blocks = places // self.block
        apart = blocks.unsqueeze(-1) - blocks.unsqueeze(-2)
        return apart.abs() <= 1
