"""Parity of bits, with the running parity written out, or asked for at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import task
from lengthwise.tasks._splits import SPLITS, Split, count_split, split_bits
from lengthwise.tasks._words import draw_words

END, EQUALS = 2, 3


@task("parity-scratchpad")
@dataclass(frozen=True)
class ParityScratchpad(AnswerTask):
    """The parities of all beginnings of a string of bits, such as `1101=1001`, or the last alone.

    Bits are independent and uniform (arXiv 2405.20671, 2310.11984). Coupled ids are 0 for `=` and
    1 + its number for a bit and for the parity up to it; without the scratchpad, 0 for all but `=`,
    which has 1. Of strings of at least four bits one in eight is held out (ours).
    """

    unit = "bits"
    end = END
    defaults: ClassVar[Mapping[str, Any]] = {
        # Position Coupling trains 6 layers on 1..20 bits at a rate of 3e-5; all of this is ours.
        "model": "gpt",
        "min_train_length": 1,
        "max_train_length": 20,
        "test_lengths": (1, 2, 5, 10, 20, 21, 22, 25, 30, 40, 50),
        "test_inputs": 512,
        "steps": 6000,
        "batch": 64,
        "learning_rate": 1e-3,
        "beta2": 0.95,
    }

    scratchpad: bool = True
    """Whether the answer is the running parity, or one bit."""

    positions: Literal["plain", "coupled"] = "plain"
    """Position ids that count tokens, or that a bit and the parity up to it share (coupled)."""

    longest: int = 50
    """The most bits."""

    split: Split = "train"
    """Which strings are drawn; tests are always on held-out ones."""

    def __post_init__(self) -> None:
        require(self.longest >= 1, "longest", self.longest, "at least 1")
        require_name(self.positions, ("plain", "coupled"), "positions")
        require_name(self.split, SPLITS, "split")

    @property
    def classes(self) -> int:
        """0, 1 and END."""
        return 3

    @property
    def vocab(self) -> int:
        """0, 1, END and =."""
        return 4

    @property
    def token_names(self) -> tuple[str, ...]:
        """As people write them."""
        return ("0", "1", "END", "=")

    @property
    def lengths(self) -> range:
        """One bit or more."""
        return range(1, self.longest + 1)

    @property
    def max_position(self) -> int:
        """As many as there are tokens, or with coupled ids one more than there are bits."""
        return 1 + self.longest if self.positions == "coupled" else self.input_size(self.longest)

    def held_out(self) -> Self:
        """Strings that cannot occur in training, but for the shortest."""
        return replace(self, split="held-out")

    def sizes(self, length: int) -> tuple[int, int]:
        """The bits and =; as many parities, or one, and END."""
        return length + 1, (length if self.scratchpad else 1) + 1

    def count_inputs(self, length: int) -> int:
        """All strings of the split."""
        return count_split(length, self.split)

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Bits and =."""
        (words,) = draw_words(key, count, (length,))
        return functional.pad(split_bits(words, self.split), (0, 1), value=EQUALS)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """Parities and END."""
        parities = prompts[..., :length].cumsum(-1) & 1
        parities = parities if self.scratchpad else parities[..., -1:]
        return functional.pad(parities, (0, 1), value=END)

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Coupled ids."""
        if self.positions == "plain":
            return None
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        numbered = (places + 1) % (length + 1)
        ids = numbered if self.scratchpad else (places == length).to(torch.int64)
        return ids.expand(tokens.shape)
