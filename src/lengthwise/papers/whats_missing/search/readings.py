"""What the claims about the search read: pairs of twins, and top portions of models."""

from collections.abc import Sequence

import numpy as np
import polars

from lengthwise.claims import Estimate, Results, estimate
from lengthwise.claims.statistics import student_t
from lengthwise.papers.whats_missing.kinds import kind_of_weights
from lengthwise.search.set_complement import DROPOUTS

SITES = dict(zip(DROPOUTS, ("embedding", "attention weights", "attention output"), strict=True))
"""Dropout sites as hyper-parameters and in words. Ours."""

EMA_POWER, BIAS_POWER = 0.5, 0.2
"""Where one pair of powers has to stand for all: the defaults of BEMA (arXiv 2508.00180)."""

TOP = 0.1
"""The top portion of models that is read: a tenth. Ours."""

SMALLEST_FACTOR = 1.05
"""A change of TVD by less than 5 % would not matter. Ours."""

RESAMPLES = 1000
"""Of the bootstrap. Ours."""


def trials(results: Results) -> polars.DataFrame:
    """All trials that did not diverge: a row per set of weights.

    Beside the columns of the search's table: `pair` (of twins), `gap` (longest test length minus
    training length), `kind` ("raw", "EMA 0.5", "BEMA 0.5 0.2" ...), `dropout` (whether any site
    has one).
    """
    assert results.search is not None
    longest = results.search.by_length()["length"].max()
    return (
        results.search.table()
        .filter(polars.col("diverged").is_null(), polars.col("tvd_beyond").is_not_nan())
        .with_columns(
            pair=polars.col("trial") // 2,
            gap=longest - polars.col("train_length"),
            kind=kind_of_weights(),
            dropout=polars.any_horizontal(polars.col(site) > 0 for site in DROPOUTS),
        )
    )


def best_weights(table: polars.DataFrame) -> polars.DataFrame:
    """One row per trial: the set of weights with the least TVD beyond the training length."""
    ordered = table.sort("tvd_beyond", "trial", "kind")
    return ordered.unique("trial", keep="first", maintain_order=True).sort("trial")


def twins(table: polars.DataFrame, factor: str, kind: str = "raw") -> polars.DataFrame:
    """Pairs that differ in `factor` alone: one row each, with TVD beyond as `off` and `on`.

    `off` is the twin without the dropout, or without the norm; the other columns are those of the
    pair's first trial, and `rate` is the value of `factor` in the twin that has it.
    """
    chosen = table.filter(polars.col("kind") == kind)
    first = chosen.filter(polars.col("factor").is_null())
    second = chosen.filter(polars.col("factor") == factor)
    pairs = first.join(second.select("pair", factor, "tvd_beyond"), on="pair", suffix="_twin")
    is_off = polars.col(factor) == ("none" if factor == "norm" else 0.0)
    ours, theirs = polars.col("tvd_beyond"), polars.col("tvd_beyond_twin")
    return pairs.with_columns(
        off=polars.when(is_off).then(ours).otherwise(theirs),
        on=polars.when(is_off).then(theirs).otherwise(ours),
        rate=polars.when(is_off).then(polars.col(f"{factor}_twin")).otherwise(polars.col(factor)),
    )


def factor_lower(pairs: polars.DataFrame, looks: int = 1) -> Estimate:
    """How many times lower TVD is with the factor than without it, over pairs of twins.

    Args:
        pairs: What `twins` gave, or a part of it.
        looks: How many parts are looked at: the interval is widened so that all of theirs hold
            together (Bonferroni).
    """
    logs = np.log(pairs["off"].to_numpy() / pairs["on"].to_numpy())
    plain = estimate(logs.tolist())
    if looks > 1 and len(logs) > 1:
        error = float(logs.std(ddof=1)) / np.sqrt(len(logs))
        reach = student_t(1 - 0.025 / looks, len(logs) - 1) * error
        plain = Estimate(plain.mean, plain.mean - reach, plain.mean + reach, plain.count)
    return plain.exp()


def within_trials(table: polars.DataFrame, above: str, below: str) -> Estimate:
    """How many times lower TVD is with the weights `below` than `above`, within each trial.

    Twins are no independent witnesses: each pair counts once, with the mean of its two trials.
    """
    kinds = {
        kind: table.filter(polars.col("kind") == kind).select("trial", "pair", "tvd_beyond")
        for kind in (above, below)
    }
    joined = kinds[above].join(kinds[below], on="trial", suffix="_below")
    joined = joined.with_columns(
        log=(polars.col("tvd_beyond") / polars.col("tvd_beyond_below")).log()
    )
    means = joined.group_by("pair", maintain_order=True).agg(polars.col("log").mean())
    return estimate(means["log"].to_list()).exp()


def chosen_weights(table: polars.DataFrame, prefix: str) -> tuple[str, polars.DataFrame]:
    """The weights of a kind, such as "BEMA ", whose top portion is best on every other pair.

    Given back with the trials of the other pairs: what is chosen by its numbers must not be judged
    by the same numbers.
    """
    half = table.filter(polars.col("pair") % 2 == 0)
    kinds = sorted(kind for kind in half["kind"].unique() if kind.startswith(prefix))
    chosen = min(kinds, key=lambda kind: top_tvd(half, kind).point)
    return chosen, table.filter(polars.col("pair") % 2 == 1)


def top_tvd(table: polars.DataFrame, kind: str) -> "TopPortion":
    """The logarithm of TVD in the top portion of models with weights of one kind."""
    own = table.filter(polars.col("kind") == kind).sort("trial")
    return TopPortion(own.with_columns(log=polars.col("tvd_beyond").log()), "log", ["gap"])


class TopPortion:
    """The mean of a column over the models with the least TVD, within cells, with intervals.

    Cells (such as gap and width) are ranked each on its own, since a larger gap has a larger TVD,
    and count equally. The bootstrap draws whole pairs of twins.
    """

    def __init__(
        self, table: polars.DataFrame, value: str, cells: Sequence[str], portion: float = TOP
    ) -> None:
        """Rank the rows of `table`, one per trial, and average `value` over the top."""
        self.pairs = table["pair"].n_unique()
        generator = np.random.default_rng(0)
        points, draws = [], []
        for _, cell in table.group_by(*cells, maintain_order=True):
            ordered = cell.sort("tvd_beyond", "trial")
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
        return bootstrap_estimate(self.point, self.draws, self.pairs)

    def minus(self, other: "TopPortion") -> Estimate:
        """The difference to another portion of other trials."""
        count = min(self.pairs, other.pairs)
        return bootstrap_estimate(self.point - other.point, self.draws - other.draws, count)


def bootstrap_estimate(point: float, draws: np.ndarray, count: int) -> Estimate:
    """A point with the middle 95 % of its bootstrap draws."""
    low, high = np.percentile(draws, [2.5, 97.5])
    return Estimate(point, float(low), float(high), count)


def _top_means(values: np.ndarray, weights: np.ndarray, portion: float) -> np.ndarray:
    """Means of the first `portion` of `values`, one for each row of `weights`."""
    up_to = weights.cumsum(1)
    wanted = portion * up_to[:, -1:]
    used = np.clip(wanted - (up_to - weights), 0, weights)
    means: np.ndarray = used @ values / wanted[:, 0]
    return means
