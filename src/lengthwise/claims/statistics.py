"""Means over paired seeds and how sure one may be of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A mean over independent seeds with its 95 % confidence interval (Student's t)."""

    mean: float
    low: float
    high: float
    count: int

    def exp(self) -> "Estimate":
        """The estimate of a ratio whose logarithm was averaged."""
        return Estimate(math.exp(self.mean), math.exp(self.low), math.exp(self.high), self.count)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval of values that are independent of one another.

    One value alone says nothing of its spread: its interval is infinite. So it is with none.
    """
    sample = np.asarray(values, dtype=np.float64)
    count = len(sample)
    mean = float(sample.mean()) if count else math.nan
    if count < 2:
        return Estimate(mean, -math.inf, math.inf, count)
    error = float(sample.std(ddof=1)) / math.sqrt(count)
    reach = student_t(0.975, count - 1) * error
    return Estimate(mean, mean - reach, mean + reach, count)


def every(values: Sequence[float]) -> Estimate:
    """Mean, smallest and largest of values, for a claim that must be true of every one of them.

    What stands in place of the interval is no estimate: it holds all the values there are.
    """
    sample = np.asarray(values, dtype=np.float64)
    low, high = float(sample.min()), float(sample.max())
    return Estimate(float(sample.mean()), low, high, len(sample))


def bootstrap(values: Sequence[float], resamples: int = 10_000, seed: int = 0) -> Estimate:
    """The mean and its 95 % interval from resampling the values with replacement."""
    sample = np.asarray(values, dtype=np.float64)
    chosen = np.random.default_rng(seed).integers(len(sample), size=(resamples, len(sample)))
    low, high = np.quantile(sample[chosen].mean(1), (0.025, 0.975))
    return Estimate(float(sample.mean()), float(low), float(high), len(sample))


def p_value(values: Sequence[float]) -> float:
    """How likely a mean this far from 0 would be by chance: Student's t test, two-sided."""
    sample = np.asarray(values, dtype=np.float64)
    count, error = len(sample), float(sample.std(ddof=1)) / math.sqrt(len(sample))
    if error == 0:
        return float(sample.mean() == 0)
    return 1 - 2 * _mass_between_zero_and(abs(float(sample.mean())) / error, count - 1)


@cache
def student_t(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution above its median, by bisection of its integral."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if _mass_between_zero_and(middle, freedom) < probability - 0.5
            else (low, middle)
        )
    return (low + high) / 2


def _mass_between_zero_and(bound: float, freedom: int) -> float:
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    constant /= math.sqrt(freedom * math.pi)
    # With x = sqrt(freedom) tan(angle) the integrand is a power of a cosine: smooth, bounded.
    angles, step = np.linspace(0.0, math.atan(bound / math.sqrt(freedom)), 2001, retstep=True)
    heights = np.cos(angles) ** (freedom - 1)
    simpson = heights[0] + heights[-1] + 4 * heights[1:-1:2].sum() + 2 * heights[2:-1:2].sum()
    return float(constant * math.sqrt(freedom) * simpson * step / 3)
