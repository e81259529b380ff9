"""Wells: whether two intervals of measurements come from the same well (arXiv 2212.14246)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.randomness import address, at, below, bits, unit
from lengthwise.tasks._base import Batch, task
from lengthwise.tasks._series import Oscillation, PairTask, normal
from lengthwise.tasks._sets import examples

SHORTEST, LONGEST = 4, 1024
"""Of an interval. Ours."""

MODULI = (0.5, 0.9)
ANGLES = (0.2, 1.2)
"""Between which a well's processes lie. Ours: intervals of 100 steps leave some doubt."""

_WELLS, _NOISE, _PARTS = range(3)
"""The streams of an example."""


@task("same-well")
@dataclass(frozen=True)
class SameWell(PairTask):
    """Two intervals of measurements: do they come from the same well? Half of them do.

    In the Reguformer's data (arXiv 2212.14246) an interval is 100 steps of depth with 4 features.
    Here a well is a few AR(2) processes with coefficients of its own and a variance of 1, so that
    the posterior is exact: it is the target. As in the paper, a part of an interval may be missing:
    a run of steps whose values are all 0, anywhere. (The paper draws no longer intervals in tests
    than in training; the wells are ours.)
    """

    unit = "steps"
    graded = True
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "siamese",
        "max_train_length": 100,
        "batch": 32,
        "steps": 5000,
        "test_lengths": (50, 100, 200, 400, 800),
        "test_inputs": 512,
        "learning_rate": 1e-3,
        "beta2": 0.999,
    }

    wells: int = 40
    """How many wells there are."""

    channels: int = 2
    """How many features every step has; the paper has 4. Ours."""

    zeroed: float = 0.0
    """Which part of every interval is replaced by zeros."""

    test_zeroed: float = 0.0
    """The same in tests."""

    drawn: Literal["seen", "unseen"] = "seen"
    """Which wells are drawn: those of training, or as many others."""

    tested: Literal["seen", "unseen"] = "seen"
    """Which wells tests are drawn from."""

    def __post_init__(self) -> None:
        require(self.wells >= 2, "wells", self.wells, "at least 2")
        require(self.channels >= 1, "channels", self.channels, "at least 1")
        for name in ("zeroed", "test_zeroed"):
            require(0 <= getattr(self, name) < 1, name, getattr(self, name), "a part in [0, 1)")
        for name in ("drawn", "tested"):
            require_name(getattr(self, name), ("seen", "unseen"), name)

    @property
    def classes(self) -> int:
        """Different or the same."""
        return 2

    @property
    def class_names(self) -> tuple[str, ...]:
        """In words."""
        return "different", "same"

    @property
    def lengths(self) -> range:
        """Steps of an interval."""
        return range(SHORTEST, LONGEST + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Pairs of intervals, `(..., count, 2, length, channels)`, and whether they belong."""
        expected = f"one of {SHORTEST}..{LONGEST} steps"
        require(length in self.lengths, "length", length, expected)
        streams = examples(key, count)
        words = bits(at(streams, _WELLS), 3)
        same = below(words[..., 0], 2)
        one = below(words[..., 1], self.wells)
        other = (one + 1 + below(words[..., 2], self.wells - 1)) % self.wells
        pair = torch.stack([one, other.where(same == 0, one)], -1)
        noise = bits(at(streams, _NOISE), 2 * self.channels * length)
        paths = (
            self._processes(key.device)
            .at(pair)
            .paths(normal(noise).unflatten(-1, (2, self.channels, length)))
        )
        missing = round(self.zeroed * length)
        begin = below(bits(at(streams, _PARTS), 2), length - missing + 1).unsqueeze(-1)
        steps = torch.arange(length, device=key.device)
        kept = (steps < begin) | (steps >= begin + missing)
        values = paths.to(torch.float32).mT * kept.unsqueeze(-1)
        return Batch(values, same)

    def targets(self, inputs: Tensor) -> Tensor:
        """The probability that they are different, and that they are the same."""
        given = self._likelihoods(inputs.to(torch.float64))  # (..., 2, wells)
        one, other = given[..., 0, :], given[..., 1, :]
        same = (one + other).logsumexp(-1) - math.log(self.wells)
        # All pairs, but for those of a well with itself.
        pairs = one.logsumexp(-1) + other.logsumexp(-1)
        alike = (one + other).logsumexp(-1) - pairs
        different = pairs + torch.log1p(-alike.exp().clamp(max=1 - 1e-15))
        different = different - math.log(self.wells * (self.wells - 1))
        return torch.stack([different, same], -1).softmax(-1).to(torch.float32)

    def held_out(self) -> "SameWell":
        """What tests are about: other wells, or other parts missing."""
        return replace(self, drawn=self.tested, zeroed=self.test_zeroed)

    def _likelihoods(self, values: Tensor) -> Tensor:
        """Log-likelihood of every interval `(..., 2, length, channels)` in every well.

        A Kalman filter whose state is the last two values: exact where steps are missing, too.
        """
        process = self._processes(values.device)
        first, second = process
        noise = process.innovation
        seen = (values != 0).any(-1)
        mean = torch.zeros(*values.shape[:-2], self.wells, self.channels, dtype=values.dtype,
                           device=values.device)  # fmt: skip
        before, total = mean.clone(), mean.clone()
        # Variances of the next value and of the one before it, and their covariance.
        own, older = torch.ones_like(mean), torch.ones_like(mean)
        both = process.correlation.expand_as(mean)
        for step in range(values.shape[-2]):
            value = values[..., step, :].unsqueeze(-2)
            known = seen[..., step, None, None]
            error = value - mean
            fit = -0.5 * (error.square() / own + own.log() + math.log(2 * math.pi))
            total = total + torch.where(known, fit, 0.0)
            gain = both / own
            before = torch.where(known, before + gain * error, before)
            older = torch.where(known, older - gain * both, older)
            mean = torch.where(known, value, mean)
            own, both = own.masked_fill(known, 0.0), both.masked_fill(known, 0.0)
            mean, before = first * mean + second * before, mean
            ahead = first**2 * own + 2 * first * second * both + second**2 * older + noise
            own, both, older = ahead, first * own + second * both, own
        return total.sum(-1)

    def _processes(self, device: torch.device) -> Oscillation:
        found = _wells(self.wells, self.channels, self.drawn)
        return Oscillation(found.first.to(device), found.second.to(device))


@cache
def _wells(wells: int, channels: int, drawn: str) -> Oscillation:
    """The processes of every well, `(wells, channels)`."""
    stream = torch.tensor(address("same-well", drawn))
    places = unit(bits(at(stream, torch.arange(wells)), 2 * channels)).to(torch.float64)
    modulus, angle = places.unflatten(-1, (channels, 2)).unbind(-1)
    return Oscillation.of(
        MODULI[0] + (MODULI[1] - MODULI[0]) * modulus,
        ANGLES[0] + (ANGLES[1] - ANGLES[0]) * angle,
    )
