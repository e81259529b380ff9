"""The table of a run: one row per model, weights, length and measure."""

from collections.abc import Iterator
from typing import NamedTuple

import polars
from torch import Tensor

from lengthwise.errors import require
from lengthwise.runs.recipe import Recipe
from lengthwise.training import Trainer

COLUMNS = {
    "model": int, "seed": int, "trial": int, "diverged": int,
    "weights": str, "ema_power": float, "bias_power": float,
    "length": int, "measure": str, "value": float, "inputs": int, "exact": bool,
}  # fmt: skip
"""The columns of the table, and of what type they are."""


class Weights(NamedTuple):
    """One set of weights of a trained fleet."""

    kind: str
    """"raw", "ema" or "bema"."""
    values: Tensor | None
    """In the layout of `Fleet.weights`; None for the fleet's own."""
    ema_powers: list[float] | None = None
    """One per model."""
    bias_powers: list[float] | None = None
    """One per model."""


def all_weights(trainer: Trainer) -> Iterator[Weights]:
    """The raw weights, then every EMA, each followed by its BEMAs."""
    yield Weights("raw", None)
    if trainer.average is None:
        return
    every = trainer.fleet.hyperparameters
    for ema_index, bias_index in trainer.average.grid():
        values = trainer.average.weights_at(ema_index, bias_index)["weights"]
        ema_powers = [one.ema_powers[ema_index] for one in every]
        if bias_index is None:
            yield Weights("ema", values, ema_powers)
        else:
            bias_powers = [one.bias_powers[bias_index] for one in every]
            yield Weights("bema", values, ema_powers, bias_powers)


def measure_table(recipe: Recipe, trainer: Trainer) -> polars.DataFrame:
    """Measure a trained fleet with its own weights and every average, at every length.

    Columns: `model` (its number in the fleet), `seed`, `trial`, `weights` ("raw", "ema" or "bema"),
    `ema_power`, `bias_power`, `length`, `measure`, `value`, `inputs` (how many the value is a mean
    over), `exact` (whether these are all there are), `diverged` (the step, or null).
    """
    return polars.concat(measure_pieces(recipe, trainer))


def measure_pieces(recipe: Recipe, trainer: Trainer, first: int = 0) -> Iterator[polars.DataFrame]:
    """The same table, a piece at a time, from piece number `first` on."""
    every = trainer.fleet.hyperparameters
    models = polars.DataFrame(
        {
            "model": range(len(every)),
            "seed": [one.seed for one in every],
            "trial": [one.trial for one in every],
            "diverged": [step if step >= 0 else None for step in trainer.diverged.tolist()],
        },
        schema_overrides={"diverged": polars.Int64},
    )
    parts = recipe.test_parts()
    for place, weights in enumerate(all_weights(trainer)):
        powers = models.with_columns(
            polars.lit(weights.kind).alias("weights"),
            _column("ema_power", weights.ema_powers, len(every)),
            _column("bias_power", weights.bias_powers, len(every)),
        )
        for part in parts[max(0, first - place * len(parts)) :]:
            yield polars.concat(
                powers.with_columns(
                    polars.lit(found.length).alias("length"),
                    polars.lit(found.measure).alias("measure"),
                    polars.Series("value", found.values.tolist(), polars.Float64),
                    polars.lit(found.inputs).alias("inputs"),
                    polars.lit(found.exact).alias("exact"),
                )
                for found in recipe.measure_part(part, trainer.fleet, weights.values)
            )


def require_table(table: polars.DataFrame) -> None:
    """Raise `InputError` unless this is a table that `measure_table` could have made."""
    for name, kind in COLUMNS.items():
        found = table.schema.get(name)
        fits = found is not None and found.to_python() is kind
        require(fits, f"column {name}", found, kind.__name__)
    require(len(table) > 0 and table["value"].null_count() == 0, "column value", None, "numbers")
    for kind in table["weights"].unique():
        require(kind in ("raw", "ema", "bema"), "column weights", kind, "raw, ema or bema")


def _column(name: str, values: list[float] | None, length: int) -> polars.Series:
    return polars.Series(name, values or [None] * length, polars.Float64)
