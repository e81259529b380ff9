"""Means and how sure one may be of them: Student's t, bootstraps, top portions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars
from scipy import stats

TOP = 0.1
"""The top portion of models that is read: a tenth. Ours."""

RESAMPLES = 1000
"""Of the bootstraps of portions. Ours."""

MIDDLE = (0.025, 0.975)
"""The middle 95 % of bootstrap draws."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and over how many of what it was taken."""

    mean: float
    low: float
    high: float
    count: int
    unit: str = "seeds"
    """What was counted: seeds, pairs, instances."""

    def exp(self) -> "Estimate":
        """The estimate of a ratio whose logarithm was averaged."""
        mean, low, high = (math.exp(value) for value in (self.mean, self.low, self.high))
        return Estimate(mean, low, high, self.count, self.unit)

    @classmethod
    def of_draws(
        cls, point: float, draws: Sequence[float] | np.ndarray, count: int, unit: str
    ) -> Self:
        """A point with the middle 95 % of its bootstrap draws."""
        low, high = np.quantile(draws, MIDDLE)
        return cls(point, float(low), float(high), count, unit)


def estimate(values: Sequence[float], unit: str = "seeds", looks: int = 1) -> Estimate:
    """Mean and 95 % interval (Student's t) of values that are independent of one another.

    One value alone says nothing of its spread: its interval is infinite. So it is with none.

    Args:
        values: What is averaged.
        unit: What each value belongs to.
        looks: How many such estimates are looked at: the interval is widened so that all of theirs
            hold together (Bonferroni).
    """
    sample = np.asarray(values, dtype=np.float64)
    count = len(sample)
    mean = float(sample.mean()) if count else math.nan
    if count < 2:
        return Estimate(mean, -math.inf, math.inf, count, unit)
    reach = float(stats.t.ppf(1 - 0.025 / looks, count - 1) * stats.sem(sample))
    return Estimate(mean, mean - reach, mean + reach, count, unit)


def every(values: Sequence[float], unit: str = "seeds") -> Estimate:
    """Mean, smallest and largest of values, for a claim that must be true of every one of them.

    What stands in place of the interval is no estimate: it holds all the values there are.
    """
    sample = np.asarray(values, dtype=np.float64)
    low, high = float(sample.min()), float(sample.max())
    return Estimate(float(sample.mean()), low, high, len(sample), unit)


def bootstrap(values: Sequence[float], resamples: int = 10_000, unit: str = "seeds") -> Estimate:
    """The mean and its 95 % interval from resampling at least two values with replacement."""
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method="percentile", rng=np.random.default_rng(0)
    )
    low, high = found.confidence_interval
    return Estimate(float(np.mean(values)), float(low), float(high), len(values), unit)


def p_value(values: Sequence[float]) -> float:
    """How likely a mean this far from 0 would be by chance: Student's t test, two-sided."""
    if min(values) == max(values):
        return float(values[0] == 0)
    return float(stats.ttest_1samp(values, 0.0).pvalue)


class TopPortion:
    """The mean of a column over the models with the least `score`, within cells, with intervals.

    Cells (such as width) are ranked each on its own, since some have a larger score than others
    whatever the model, and count equally. The bootstrap draws whole pairs of twins.
    """

    def __init__(
        self,
        table: polars.DataFrame,
        value: str,
        cells: Sequence[str],
        portion: float = TOP,
        score: str = "tvd_beyond",
    ) -> None:
        """Rank the rows of `table`, one per trial, and average `value` over the top.

        Args:
            table: Has the columns `trial` and `pair` beside those that are named here.
            value: The column that is averaged.
            cells: Columns that divide the rows into cells.
            portion: How much of each cell is its top.
            score: The column to rank by, the least first.
        """
        self.pairs = table["pair"].n_unique()
        generator = np.random.default_rng(0)
        points, draws = [], []
        for _, cell in table.group_by(*cells, maintain_order=True):
            ordered = cell.sort(score, "trial")
            values = ordered[value].cast(polars.Float64).to_numpy()
            pairs = np.unique(ordered["pair"].to_numpy(), return_inverse=True)[1]
            count = pairs.max() + 1
            # How often each pair was drawn; the first row is the sample itself.
            drawn = generator.multinomial(count, np.full(count, 1 / count), RESAMPLES)
            weights = np.vstack([np.ones(count), drawn])[:, pairs]
            means = _top_means(values, weights, portion)
            points.append(means[0])
            draws.append(means[1:])
        self.point = float(np.mean(points))
        self.draws = np.mean(draws, axis=0)

    def estimate(self) -> Estimate:
        """The mean with its bootstrap interval."""
        return Estimate.of_draws(self.point, self.draws, self.pairs, "pairs")

    def minus(self, other: "TopPortion") -> Estimate:
        """The difference to another portion, draw by draw."""
        point, draws = self.point - other.point, self.draws - other.draws
        return Estimate.of_draws(point, draws, min(self.pairs, other.pairs), "pairs")


def _top_means(values: np.ndarray, weights: np.ndarray, portion: float) -> np.ndarray:
    """Means of the first `portion` of `values`, one for each row of `weights`."""
    up_to = weights.cumsum(1)
    wanted = portion * up_to[:, -1:]
    used = np.clip(wanted - (up_to - weights), 0, weights)
    means: np.ndarray = used @ values / wanted[:, 0]
    return means
