"""Numbers out of tables of measures, as claims read them."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars

from lengthwise.claims.statistics import Estimate, estimate

SMALLEST_FACTOR = 1.05
"""A change by less than 5 % would not matter. Ours."""

EMA_POWER, BIAS_POWER = 0.5, 0.2
"""Where one pair of powers has to stand for all: the defaults of BEMA (arXiv 2508.00180)."""

EMA_POWERS, BIAS_POWERS = (0.5, 0.7, 0.9), (0.2, 0.4, 0.6)
"""The grid of averages that small models are measured with. Ours."""


def alive(table: polars.DataFrame, measure: str) -> polars.DataFrame:
    """The rows of one measure, without those of models that diverged.

    Args:
        table: The table of a run.
        measure: Which measure, such as `tvd`.
    """
    return table.filter(polars.col("measure") == measure, polars.col("diverged").is_null())


def diverged(table: polars.DataFrame) -> int:
    """How many models diverged.

    Args:
        table: The table of a run.
    """
    return table.filter(polars.col("diverged").is_not_null())["model"].n_unique()


def average_in_words(ema_power: float, bias_power: float | None = None) -> str:
    """An average as people read it: "EMA 0.5", "BEMA 0.5 0.2".

    Args:
        ema_power: Power of the EMA.
        bias_power: Power of the correction, or None.
    """
    return f"EMA {ema_power}" if bias_power is None else f"BEMA {ema_power} {bias_power}"


def weights_in_words() -> polars.Expr:
    """The same, or "raw", out of a table's columns `weights`, `ema_power` and `bias_power`."""
    powers = (
        polars.when(polars.col(power).is_null())
        .then(polars.lit(""))
        .otherwise(polars.format(" {}", power))
        for power in ("ema_power", "bias_power")
    )
    names = {"raw": "raw", "ema": "EMA", "bema": "BEMA"}
    return polars.concat_str(polars.col("weights").replace_strict(names), *powers)


DEFAULT_EMA = average_in_words(EMA_POWER)
"""The EMA that claims read unless they say otherwise."""
DEFAULT_BEMA = average_in_words(EMA_POWER, BIAS_POWER)
"""The BEMA that claims read unless they say otherwise."""


def by_seed(table: polars.DataFrame) -> dict[int, float]:
    """The mean of `value` for every seed.

    Args:
        table: Rows with `seed` and `value`.
    """
    means = table.group_by("seed", maintain_order=True).agg(polars.col("value").mean())
    return dict(means.iter_rows())


def log_ratios(above: Mapping[int, float], below: Mapping[int, float]) -> list[float]:
    """Log of the ratio of two measures, one per seed that both have.

    Args:
        above: By seed, what is divided.
        below: By seed, what it is divided by.
    """
    return [math.log(above[seed] / below[seed]) for seed in sorted(above.keys() & below.keys())]


def paired_ratio(
    above: Mapping[int, float], below: Mapping[int, float], level: float = 0.05
) -> Estimate:
    """How many times lower a measure is in `below`, seed by seed: a geometric mean of ratios.

    Args:
        above: By seed, what is divided.
        below: By seed, what it is divided by.
        level: One minus how sure the interval is: 0.05 for 95 %.
    """
    return estimate(log_ratios(above, below), level=level).exp()


def slope(lengths: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """Slope of log value on log length: -1 is a fall like 1/length.

    Args:
        lengths: Where the values were taken.
        values: Positive values.
    """
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])


def best_average(table: polars.DataFrame, prefix: str) -> str:
    """The powers of "EMA" or "BEMA" with the least geometric mean of `value`.

    Args:
        table: Has the columns `kind` (weights in words) and `value`.
        prefix: "EMA" or "BEMA".
    """
    own = table.filter(polars.col("kind").str.starts_with(f"{prefix} "))
    means = own.group_by("kind").agg(polars.col("value").log().mean()).sort("value", "kind")
    return str(means["kind"][0])


def chosen_on_other_seeds(table: polars.DataFrame, prefix: str) -> polars.DataFrame:
    """The rows of every seed with the powers that are best over all other seeds.

    What is chosen by its numbers must not be judged by the same numbers.

    Args:
        table: Rows of several seeds and powers.
        prefix: "EMA" or "BEMA".
    """
    pieces = []
    for seed in table["seed"].unique().sort():
        others = table.filter(polars.col("seed") != seed)
        kind = best_average(others if len(others) else table, prefix)
        pieces.append(table.filter(polars.col("seed") == seed, polars.col("kind") == kind))
    return polars.concat(pieces).drop("kind")
