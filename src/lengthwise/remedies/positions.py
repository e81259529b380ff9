"""How a model can know the order of its tokens, by name.

Some positions are added to the embedded tokens, `(hidden) -> hidden`; rotary ones stand in
attention's `positions` slot. What each does at positions that training never reached:

- `learned`: nothing trains their vectors, which stay the small random ones they began as, drawn
  from N(0, 0.02) as in GPT-1 and GPT-2 (the code of Othello-GPT starts them at zero). Nor can
  weight decay or an average of the weights move them.
- `offset`: there are none. In training every sequence begins at a random position, as far from the
  start as its length allows, so that all vectors are trained; outside training it begins at 0.
- `none`, `sinusoidal`, `rotary`: nothing is learned per position, and any length can be read.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.randomness import at, below, bits

DEVIATION = 0.02
"""Standard deviation of the vectors that are added, as of all weights of a GPT at the start."""


class LearnedPositions(nn.Module):
    """A learned vector for each of the first `most` positions, added to the token's."""

    def __init__(self, most: int, width: int) -> None:
        """Draw the vectors from N(0, 0.02)."""
        super().__init__()
        self.most = most
        self.vectors = nn.Parameter(torch.randn(most, width) * DEVIATION)

    def forward(self, hidden: Tensor) -> Tensor:
        """`(batch, length, width)` to the same."""
        return hidden + self.vectors[: self._length(hidden)]

    def _length(self, hidden: Tensor) -> int:
        length = hidden.shape[-2]
        require(length <= self.most, "length", length, f"at most {self.most}, all that have one")
        return length


class OffsetPositions(LearnedPositions):
    """Learned positions whose numbering begins at random in training, so that all are trained.

    Where a sequence begins depends on the module's key, the number of the forward pass and the
    sequence's place in the batch: see `lengthwise.randomness`.
    """

    key: Tensor
    step: Tensor

    def __init__(self, most: int, width: int) -> None:
        """Draw the vectors, and a key from torch's generator."""
        super().__init__(most, width)
        self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, hidden: Tensor) -> Tensor:
        """`(batch, length, width)` to the same."""
        if not self.training:
            return super().forward(hidden)
        length = self._length(hidden)
        words = bits(at(self.key, self.step), hidden.shape[-3])
        self.step.add_(1)
        begins = below(words, self.most - length + 1)
        ids = begins.unsqueeze(-1) + torch.arange(length, device=hidden.device)
        return hidden + functional.embedding(ids, self.vectors)


class SinusoidalPositions(nn.Module):
    """Sines and cosines of the position, from one period per 2 pi to one per 20000 pi.

    They are as large as learned vectors are at the start, so that they do not drown the tokens
    (ours; the original scales the tokens up instead).
    """

    def __init__(self, width: int) -> None:
        """Fix the frequencies, of which there is one per two features."""
        super().__init__()
        require(width % 2 == 0, "width", width, "even, for pairs of sine and cosine")
        self.width = width

    def forward(self, hidden: Tensor) -> Tensor:
        """`(batch, length, width)` to the same."""
        angles = _angles(hidden.shape[-2], self.width // 2, hidden)
        waves = torch.cat([angles.sin(), angles.cos()], -1).to(hidden.dtype)
        return hidden + waves * (DEVIATION * 2**0.5)


class RotaryPositions(nn.Module):
    """Turn queries and keys by their positions: scores then depend on distances (2104.09864)."""

    def __init__(self, width: int) -> None:
        """Check the width of one head."""
        super().__init__()
        require(width % 2 == 0, "width of a head", width, "even, for rotary positions")

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        query_ids: Tensor | None = None,
        key_ids: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Turned `(..., rows, width)`; ids are 0, 1, ... where they are not given."""
        return _turned(queries, query_ids), _turned(keys, key_ids)


def _turned(rows: Tensor, ids: Tensor | None) -> Tensor:
    angles = _angles(rows.shape[-2] if ids is None else ids, rows.shape[-1] // 2, rows)
    # Not the angles: rounded to bfloat16 they would be off by more the further the position.
    sine, cosine = angles.sin().to(rows.dtype), angles.cos().to(rows.dtype)
    first, second = rows.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def _angles(ids: int | Tensor, pairs: int, like: Tensor) -> Tensor:
    """Position times frequency, `(positions, pairs)`, in float32 or wider."""
    if isinstance(ids, int):
        ids = torch.arange(ids, device=like.device)
    frequencies = 10_000.0 ** -(torch.arange(pairs, device=like.device) / pairs)
    return (ids.unsqueeze(-1) * frequencies).to(torch.promote_types(like.dtype, torch.float32))


ADDED: dict[str, Callable[[int, int], nn.Module]] = {
    "learned": LearnedPositions,
    "offset": OffsetPositions,
    "none": lambda most, width: nn.Identity(),
    "sinusoidal": lambda most, width: SinusoidalPositions(width),
    "rotary": lambda most, width: nn.Identity(),
}
"""What is added to the embedded tokens: made for a number of positions and a width."""

TURNED: dict[str, Callable[[int], nn.Module]] = {"rotary": RotaryPositions}
"""What stands in attention's `positions` slot, if anything: made for the width of a head."""
