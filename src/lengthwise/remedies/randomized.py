"""Randomized positions (arXiv 2305.16843)."""

from typing import Any, Literal

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.randomness import at, bits
from lengthwise.remedies._base import Remedy, remedy
from lengthwise.remedies._keys import Shape


@remedy("randomized")
class Randomized(Remedy):
    """Position ids that are a random subset of a larger range, in order (arXiv 2305.16843).

    An input of n tokens gets n different ids out of 0 .. `count` - 1, all subsets equally likely,
    the smallest for the first token; 2048 ids are the paper's. It is for use with whatever reads
    ids (`learned`, `rotary`, `alibi`, `fire`, ...), and learned positions then have a vector for
    each of them. Training sees ids as large as any length will have, so up to `count` tokens no
    position is new, only closer to the others than in training; longer inputs are refused.

    There is one draw per batch, shared by all layers: in training a function of the module's key
    and the number of the forward pass, outside of it of the key and the length, so that a model
    answers alike every time. As in the paper ids are drawn at test too; `test=counted` has
    0 .. n - 1 there, as some public code. A prefix has other ids alone than inside a longer input.
    It is not the paper's variant for relative positions, which draws distances to the left and to
    the right, nor one with a draw per layer or in real numbers.
    """

    per_layer = False
    by_prefix = False

    key: Tensor
    step: Tensor

    def __init__(
        self, shape: Shape, *, count: int = 2048, test: Literal["drawn", "counted"] = "drawn"
    ) -> None:
        """Draw a key from torch's generator."""
        super().__init__(shape)
        expected = f"at least {shape.max_length}, as many ids as the longest input needs"
        require(count >= shape.max_length, "randomized:count", count, expected)
        self.count = count
        self.test = test
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    @classmethod
    def reshaped(cls, shape: Shape, *, count: int = 2048, **options: Any) -> Shape:
        """A shape of so many position ids."""
        return shape._replace(max_length=max(count, shape.max_length))

    @property
    def replaces(self) -> str:
        """The position ids."""
        return "the position ids"

    def ids(self, ids: Tensor) -> Tensor:
        """Sorted ids `(length,)`, the same for every sequence of the batch."""
        expected = "none from the task, as 'randomized' draws them"
        require(ids.dim() == 1, "position_ids", f"of shape {tuple(ids.shape)}", expected)
        length = ids.shape[-1]
        require(length <= self.count, "length", length, f"at most randomized:count = {self.count}")
        if self.training:
            stream = at(self.key, self.step)
            self.step.add_(1)
        elif self.test == "counted":
            return ids
        else:
            stream = at(at(self.key, -1), length)  # no step of training has that number
        order = bits(stream, self.count).sort(stable=True).indices
        return order[..., :length].sort().values
