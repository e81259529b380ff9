"""Many series driven by few hidden factors: the longer input is the one with more series."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.randomness import address, at, below, bits
from lengthwise.tasks._base import Batch, task
from lengthwise.tasks._series import (
    Oscillation,
    Series,
    SeriesTask,
    angle_of,
    normal,
    paths_of,
    quantiles,
)
from lengthwise.tasks._sets import examples
from lengthwise.tasks._smoothing import smoothed
from lengthwise.tasks._words import distinct, words_of

MOST_LAG = 12
"""Series follow the factors by 0..12 times: those that lead tell of those that lag."""

PERIODS = (24.0, 168.0)
"""Of the factors, in turn: a day and a week of hours."""

MODULUS = 0.98
"""Of the factors' roots: how long a swing lasts. Ours."""

_PATHS, _VARIATES, _NOISE = range(3)
"""The streams of an example."""


@task("hidden-factors")
@dataclass(frozen=True)
class HiddenFactors(SeriesTask):
    """Series that follow a few hidden factors, each with its own loadings and lag: continue them.

    The length is the number of series, as where iTransformers meet more variates than in training
    (arXiv 2310.06625). A variate is loadings x factors(t - lag) + noise, where the factors are
    AR(2) processes; what a variate is never changes, and an example draws some of them. The paper
    mixes two questions that are told apart here: *more* variates (longer inputs of those that
    training draws from) and *unseen* ones (`tested="unseen"`), or both.

    The target is the mean given all series and what their variates are: the best prediction there
    is. A model that reads the values alone has to guess loadings and lags, so for it `excess_mse`
    is the distance from a bound that it cannot quite reach. (These processes and their sizes are
    ours: the paper has measured data.)
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "inverted",
        "max_train_length": 16,
        "batch": 32,
        "steps": 5000,
        "test_lengths": (4, 8, 16, 32, 64, 128, 256, 512),
        "test_inputs": 256,
        "learning_rate": 1e-3,
        "beta2": 0.999,
    }

    factors: int = 4
    """How many hidden factors there are."""

    window: int = 48
    """How many times of each series are seen."""

    horizon: int = 12
    """How many times are to be predicted."""

    noise: float = 0.3
    """Standard deviation of the noise of a series, whose signal has about 1. Ours."""

    variates: int = 512
    """The most variates of an input, and how many unseen ones there are."""

    seen: int = 512
    """How many variates training draws from; a few can be learned by heart."""

    drawn: Literal["seen", "unseen"] = "seen"
    """Which variates are drawn."""

    tested: Literal["seen", "unseen"] = "seen"
    """Which variates tests are drawn from."""

    def __post_init__(self) -> None:
        for name in ("factors", "horizon", "variates", "seen"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.window >= 2, "window", self.window, "at least 2")
        require(self.noise > 0, "noise", self.noise, "a positive number")
        for name in ("drawn", "tested"):
            require_name(getattr(self, name), ("seen", "unseen"), name)

    @property
    def outputs(self) -> int:
        """One number for every time to come."""
        return self.horizon

    @property
    def lengths(self) -> range:
        """Any number of variates."""
        return range(1, self.variates + 1)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """`length` different variates each, over the window, and what comes after it."""
        require(length in self.lengths, "length", length, f"one of 1..{self.variates} variates")
        pool = self.seen if self.drawn == "seen" else self.variates
        expected = f"at most {pool}, as there are no more variates to draw from (field seen)"
        require(length <= pool, "length", length, expected)
        streams = examples(key, count)
        chosen = distinct(words_of(streams, _VARIATES, length), pool)
        chosen = chosen if self.drawn == "seen" else chosen + self.seen
        times = self.window + self.horizon
        words = words_of(streams, _PATHS, self.factors * (MOST_LAG + times))
        noise = normal(words).unflatten(-1, (self.factors, MOST_LAG + times))
        paths = paths_of(_settings(self.factors), noise)
        values = self._values(paths, chosen, at(streams, _NOISE))
        seen, to_come = values.split([self.window, self.horizon], -1)
        return Batch(Series(seen, chosen), to_come)

    def targets(self, inputs: Series) -> Tensor:
        """The mean of what is to come: `(..., count, variates, horizon)`."""
        return self._future(inputs)[0].to(torch.float32)

    def variances(self, inputs: Series) -> Tensor:
        """Its variance, noise and all."""
        return self._future(inputs)[1].to(torch.float32)

    def held_out(self) -> "HiddenFactors":
        """The same of the variates that tests are about."""
        return replace(self, drawn=self.tested)

    def _values(self, paths: Tensor, chosen: Tensor, noise: Tensor) -> Tensor:
        """Variates that follow the factors' paths, with the noise of the streams `noise`."""
        from lengthwise.tasks._recursions import combine

        own = self._world(torch.device("cpu"))
        values = torch.empty(*chosen.shape, paths.shape[-1] - MOST_LAG, dtype=torch.float32)
        flat = (paths.flatten(0, -3), chosen.flatten(0, -2), noise.flatten())
        rows, numbers, keys = (tensor.cpu().contiguous().numpy() for tensor in flat)
        combine(
            rows, numbers, own.loadings.numpy(), own.lags.numpy(), keys, quantiles().numpy(),
            self.noise, values.flatten(0, -3).numpy(),
        )  # fmt: skip
        return values.to(paths.device)

    def _future(self, inputs: Series) -> tuple[Tensor, Tensor]:
        """Mean and variance of what is to come, given the window.

        Given loadings and lags all is normal, and the factors' paths are a chain in time: one pass
        forward and one back gives their mean and covariance (see `smoothed`).
        """
        values = inputs.values.flatten(0, -3).to(torch.float64)
        own = self._world(values.device)
        chosen = inputs.variates.flatten(0, -2)
        loadings, lags = own.loadings[chosen], own.lags[chosen]
        times = MOST_LAG + self.window + self.horizon
        # When the window of each variate has seen each time of the factors, and what it saw.
        seen_at = torch.arange(times, device=values.device) - MOST_LAG + lags.unsqueeze(-1)
        within = (seen_at >= 0) & (seen_at < self.window)
        found = values.gather(-1, seen_at.clamp(0, self.window - 1)) * within
        told = torch.einsum("bnk,bns->bsk", loadings, found) / self.noise**2
        weight = torch.einsum("bnk,bnj,bns->bskj", loadings, loadings, within.to(values.dtype))
        mean, covariance = smoothed(self._processes(values.device), weight / self.noise**2, told)
        ahead = MOST_LAG + self.window + torch.arange(self.horizon, device=values.device)
        when = ahead - lags.unsqueeze(-1)  # of the factors, (inputs, variates, horizon)
        rows = torch.arange(len(mean), device=values.device)[:, None, None]
        future = torch.einsum("bnk,bnhk->bnh", loadings, mean[rows, when])
        spread = torch.einsum("bnk,bnhkj,bnj->bnh", loadings, covariance[rows, when], loadings)
        shape = (*inputs.variates.shape, self.horizon)
        return future.view(shape), (spread + self.noise**2).view(shape)

    def _processes(self, device: torch.device) -> Oscillation:
        """The factors."""
        return _processes(self.factors, device)

    def _world(self, device: torch.device) -> "Variates":
        own = _variates(self.factors, self.seen + self.variates)
        return Variates(own.loadings.to(device), own.lags.to(device))


class Variates(NamedTuple):
    """What the variates are."""

    loadings: Tensor
    """`(variates, factors)`: normal, so that a signal has a variance of 1 on average."""
    lags: Tensor
    """`(variates,)`: 0..12."""


def _processes(factors: int, device: torch.device) -> Oscillation:
    periods = torch.tensor([PERIODS[k % len(PERIODS)] for k in range(factors)],
                           dtype=torch.float64, device=device)  # fmt: skip
    return Oscillation.of(torch.full_like(periods, MODULUS), angle_of(periods))


@cache
def _settings(factors: int) -> Tensor:
    """What the paths of the factors go by: computing it takes longer than a few paths."""
    return _processes(factors, torch.device("cpu")).settings()


@cache
def _variates(factors: int, count: int) -> Variates:
    stream = torch.tensor(address("hidden-factors", "variates"))
    streams = at(stream, torch.arange(count))
    loadings = normal(bits(streams, factors, 1)) * factors**-0.5
    return Variates(loadings, below(bits(streams, 1), MOST_LAG + 1).squeeze(-1))
