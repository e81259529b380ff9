"""What the claims about remedies read: the planned runs, and numbers out of their tables."""

import math

import numpy as np
import polars

from lengthwise.claims import PlannedRun, Results, Scale
from lengthwise.runs import SetComplementRecipe
from lengthwise.training import Hyperparameters

EMA_POWER, BIAS_POWER = 0.5, 0.2
"""The powers the claims are read at: the defaults of the BEMA paper (arXiv 2508.00180)."""

EMA_POWERS = (0.5, 0.7, 0.9)
BIAS_POWERS = (0.2, 0.4, 0.6)
"""The grid that is shown beside them. Ours."""

SMALLEST_FACTOR = 1.05
"""A change of TVD by less than 5 % would not matter. Ours."""

SEEDS_AND_STEPS: dict[Scale, tuple[int, int]] = {
    "quick": (12, 8_000),
    "laptop": (32, 32_000),
    "paper": (64, 128_000),
}
"""The paper gives neither. Ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Two runs, paired by seed: no remedy, and LayerNorm after attention.

    The averages of both come from the same runs.
    """
    seeds, steps = SEEDS_AND_STEPS[scale]
    members = tuple(
        Hyperparameters(seed=seed, ema_powers=EMA_POWERS, bias_powers=BIAS_POWERS)
        for seed in range(seeds)
    )
    return {
        label: PlannedRun(SetComplementRecipe(norm=norm, steps=steps), members)
        for label, norm in (("baseline", "none"), ("norm", "layernorm"))
    }


def recipe_of(results: Results, run: str = "baseline") -> SetComplementRecipe:
    """The recipe of one of the experiment's runs."""
    recipe = results.plan[run].recipe
    assert isinstance(recipe, SetComplementRecipe)
    return recipe


def curves(
    results: Results,
    run: str,
    measure: str,
    weights: str = "raw",
    ema_power: float = EMA_POWER,
    bias_power: float = BIAS_POWER,
) -> polars.DataFrame:
    """One measure by seed and length, in a column each; diverged models are left out."""
    table = results.tables[run].filter(
        polars.col("measure") == measure,
        polars.col("weights") == weights,
        polars.col("diverged").is_null(),
    )
    if weights != "raw":
        table = table.filter(polars.col("ema_power") == ema_power)
    if weights == "bema":
        table = table.filter(polars.col("bias_power") == bias_power)
    return table.select("seed", "length", "value").sort("seed", "length")


def beyond(results: Results, run: str, weights: str, **powers: float) -> dict[int, float]:
    """Mean TVD over all lengths beyond the training length, by seed."""
    longest = recipe_of(results).train_length
    table = curves(results, run, "tvd", weights, **powers).filter(polars.col("length") > longest)
    means = table.group_by("seed").agg(polars.col("value").mean())
    return dict(means.iter_rows())


def log_ratios(above: dict[int, float], below: dict[int, float]) -> list[float]:
    """Log of the ratio of two measures, one per seed that both have."""
    return [math.log(above[seed] / below[seed]) for seed in sorted(above.keys() & below.keys())]


def log_slope(lengths: np.ndarray, values: np.ndarray) -> float:
    """Slope of log value on log length: -1 is a fall like 1/s."""
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])
