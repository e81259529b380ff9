"""Means and how sure one may be of them: Student's t, bootstraps, top portions, several looks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np
import polars
from scipy import optimize, stats

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
    """The estimate."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end of its interval."""
    count: int
    """How many things it was taken over."""
    unit: str = "seeds"
    """What was counted: seeds, pairs, instances."""
    deviation: float | None = None
    """Standard deviation of a single one, of its logarithm for a ratio; None where the interval is
    no estimate."""
    ratio: bool = False
    """Whether logarithms were averaged."""

    def exp(self) -> "Estimate":
        """The estimate of a ratio whose logarithm was averaged."""
        mean, low, high = (math.exp(value) for value in (self.mean, self.low, self.high))
        return replace(self, mean=mean, low=low, high=high, ratio=True)

    def count_to_decide(self, smallest: float) -> int | None:
        """How many (such as seeds) would tell this effect from the smallest that matters.

        At the mean and deviation seen, with a power of 80 % and an interval of 95 %. None where no
        number up to a million would, or nothing is known of the deviation.

        Args:
            smallest: The smallest effect that matters.
        """
        if self.deviation is None or not math.isfinite(self.deviation):
            return None
        distance = self.mean - smallest
        if self.ratio:
            distance = math.log(self.mean / smallest)
        if self.deviation == 0:
            return None if distance == 0 else 2
        return _count_for(abs(distance) / self.deviation)

    @classmethod
    def of_draws(
        cls, point: float, draws: Sequence[float] | np.ndarray, count: int, unit: str
    ) -> Self:
        """A point with the middle 95 % of its bootstrap draws.

        Args:
            point: The estimate itself.
            draws: What resampling made of it.
            count: How many things it was taken over.
            unit: What these things are, in the plural.
        """
        low, high = np.quantile(draws, MIDDLE)
        deviation = float(np.std(draws)) * math.sqrt(count)
        return cls(point, float(low), float(high), count, unit, deviation)


MOST_TO_DECIDE = 1_000_000
POWER = 0.8


def _count_for(effect: float) -> int | None:
    """The least count at which a t test finds an effect, in deviations, with a power of 80 %."""

    def power(count: int) -> float:
        limit = stats.t.ppf(0.975, count - 1)
        # The noncentral t overflows where the normal distribution is as good.
        if count > 1000:
            return float(stats.norm.sf(limit - effect * math.sqrt(count)))
        return float(stats.nct.sf(limit, count - 1, effect * math.sqrt(count)))

    low, high = 1, 2
    while power(high) < POWER:
        low, high = high, 2 * high
        if low > MOST_TO_DECIDE:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


@cache
def levels(looks: tuple[int, ...], level: float = 0.05) -> tuple[float, ...]:
    """One minus the level of the interval at each look, so that all of them hold together.

    A plan that looks at its seeds several times, and stops when they decide, would be wrong more
    often than one that looks once. Here the chance to be wrong is spent over the looks as O'Brien
    and Fleming do (the spending function of Lan and DeMets, 1983): hardly any of it at the first,
    most at the last, `level` in all.

    Args:
        looks: How many seeds there are at each look, rising; the last is all there will be.
        level: How often any of the intervals may miss.
    """
    parts = np.asarray(looks) / looks[-1]
    spent = 4 * stats.norm.sf(stats.norm.isf(level / 4) / np.sqrt(parts))  # half on either side
    found: list[float] = []
    # Where the sum of all values so far may be if nothing was decided yet, and how likely that is;
    # its variance is the part of the seeds that was read.
    places, chances, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for part, total in zip(parts, spent, strict=True):
        step = math.sqrt(part - before)
        bound = optimize.brentq(_excess, 0.0, 10.0, (places, chances, step, total - used))
        found.append(float(2 * stats.norm.sf(bound / math.sqrt(part))))
        nodes, width = np.linspace(-bound, bound, 1001, retstep=True)
        weights = np.full(len(nodes), width)
        weights[[0, -1]] /= 2
        density = stats.norm.pdf((nodes[:, None] - places) / step) / step @ chances
        places, chances, before, used = nodes, density * weights, part, total
    return tuple(found)


def _excess(
    bound: float, places: np.ndarray, chances: np.ndarray, step: float, wanted: float
) -> float:
    """By how much the chance to be beyond `bound` a step later exceeds the one that is wanted."""
    above, below = (stats.norm.sf((bound + sign * places) / step) for sign in (-1, 1))
    return float(chances @ (above + below)) - wanted


def estimate(
    values: Sequence[float], unit: str = "seeds", looks: int = 1, level: float = 0.05
) -> Estimate:
    """Mean and 95 % interval (Student's t) of values that are independent of one another.

    One value alone says nothing of its spread: its interval is infinite. So it is with none.

    Args:
        values: What is averaged.
        unit: What each value belongs to.
        looks: How many such estimates are looked at: the interval is widened so that all of theirs
            hold together (Bonferroni).
        level: One minus the level of the interval, where it is not 95 %.
    """
    sample = np.asarray(values, dtype=np.float64)
    count = len(sample)
    mean = float(sample.mean()) if count else math.nan
    if count < 2:
        return Estimate(mean, -math.inf, math.inf, count, unit)
    reach = float(stats.t.ppf(1 - level / 2 / looks, count - 1) * stats.sem(sample))
    deviation = float(np.std(sample, ddof=1))
    return Estimate(mean, mean - reach, mean + reach, count, unit, deviation)


def every(values: Sequence[float], unit: str = "seeds") -> Estimate:
    """Mean, smallest and largest of values, for a claim that must be true of every one of them.

    What stands in place of the interval is no estimate: it holds all the values there are.

    Args:
        values: One value per instance.
        unit: What the instances are, in the plural.
    """
    sample = np.asarray(values, dtype=np.float64)
    low, high = float(sample.min()), float(sample.max())
    return Estimate(float(sample.mean()), low, high, len(sample), unit)


def bootstrap(values: Sequence[float], resamples: int = 10_000, unit: str = "seeds") -> Estimate:
    """The mean and its 95 % interval from resampling at least two values with replacement.

    Args:
        values: The values, one per seed or whatever was drawn.
        resamples: How often to resample.
        unit: What the values are, in the plural.
    """
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, method="percentile", rng=np.random.default_rng(0)
    )
    low, high = found.confidence_interval
    deviation = float(np.std(values, ddof=1))
    return Estimate(float(np.mean(values)), float(low), float(high), len(values), unit, deviation)


def p_value(values: Sequence[float]) -> float:
    """How likely a mean this far from 0 would be by chance: Student's t test, two-sided.

    Args:
        values: Paired differences, at least two.
    """
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
        """The difference to another portion, draw by draw.

        Args:
            other: The portion that is subtracted.
        """
        point, draws = self.point - other.point, self.draws - other.draws
        return Estimate.of_draws(point, draws, min(self.pairs, other.pairs), "pairs")


def _top_means(values: np.ndarray, weights: np.ndarray, portion: float) -> np.ndarray:
    """Means of the first `portion` of `values`, one for each row of `weights`."""
    up_to = weights.cumsum(1)
    wanted = portion * up_to[:, -1:]
    used = np.clip(wanted - (up_to - weights), 0, weights)
    means: np.ndarray = used @ values / wanted[:, 0]
    return means
