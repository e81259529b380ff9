"""What tasks over series of numbers share: inputs, normal numbers and AR(2) processes."""

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.tasks._base import Task


class Series(NamedTuple):
    """Series of numbers side by side."""

    values: Tensor
    """`(..., count, variates, times)`."""
    variates: Tensor
    """The number of each variate, `(..., count, variates)`: models may do without it."""


class SeriesTask(Task):
    """Series of numbers to be continued; the length is the number of series. Inputs: `Series`."""

    numbers = True
    unit = "variates"

    @property
    def window(self) -> int:
        """How many times of each series are seen."""
        raise NotImplementedError


class PairTask(Task):
    """Two series to be compared, `(..., count, 2, length, channels)`; asked once."""

    @property
    def channels(self) -> int:
        """How many numbers each time has."""
        raise NotImplementedError


class Oscillation(NamedTuple):
    """AR(2) processes x_t = first x_(t-1) + second x_(t-2) + noise of variance 1 in the long run.

    Any tensors of one shape, float64.
    """

    first: Tensor
    second: Tensor

    @classmethod
    def of(cls, modulus: Tensor, angle: Tensor) -> "Oscillation":
        """Those whose roots have a modulus below 1 and an angle: the period is 2 pi / angle."""
        return cls(2 * modulus * angle.cos(), -(modulus**2))

    @property
    def correlation(self) -> Tensor:
        """Of neighbours in time."""
        return self.first / (1 - self.second)

    @property
    def innovation(self) -> Tensor:
        """The variance of the noise."""
        return (1 + self.second) * ((1 - self.second) ** 2 - self.first**2) / (1 - self.second)

    def at(self, index: Tensor) -> "Oscillation":
        """Those of an index."""
        return Oscillation(self.first[index], self.second[index])

    def correlations(self, times: int) -> Tensor:
        """With itself 0, 1, ..., times-1 later: `(*shape, times)`."""
        found = [torch.ones_like(self.first), self.correlation]
        while len(found) < times:
            found.append(self.first * found[-1] + self.second * found[-2])
        return torch.stack(found[:times], -1)

    def settings(self) -> Tensor:
        """What `paths` goes by, `(*shape, 5)`: see `recur`."""
        start = (1 - self.correlation**2).sqrt()
        return torch.stack([*self, self.innovation.sqrt(), self.correlation, start], -1)

    def paths(self, noise: Tensor) -> Tensor:
        """Stationary paths out of standard normal numbers, `(*shape, times)` or more in front."""
        return paths_of(self.settings(), noise)


def paths_of(settings: Tensor, noise: Tensor) -> Tensor:
    """Paths of the processes of these settings: see `Oscillation.paths`.

    A path has the same bits whatever is drawn beside it.
    """
    from lengthwise.tasks._recursions import recur

    rows = settings.expand(*noise.shape[:-1], 5).reshape(-1, 5).cpu()
    found = noise.reshape(-1, noise.shape[-1]).to("cpu", copy=True)
    recur(rows.numpy(), found.numpy())
    return found.view(noise.shape).to(noise.device)


def normal(words: Tensor) -> Tensor:
    """Turn `bits` into standard normal numbers, float64: one of 65536 quantiles each.

    They are looked up, because vectorised logarithms and cosines round differently at the end of a
    tensor, and an example would depend on what is drawn beside it.
    """
    return quantiles().to(words.device)[((words >> 16) & 0xFFFF).long()]


@cache
def quantiles() -> Tensor:
    """Of the standard normal distribution, in the middle of 65536 equal parts."""
    places = (torch.arange(1 << 16, dtype=torch.float64) + 0.5) / (1 << 16)
    found = torch.special.ndtri(places)
    return found / found.square().mean().sqrt()


def angle_of(period: Tensor) -> Tensor:
    """The angle of roots that oscillate with a period."""
    return 2 * math.pi / period
