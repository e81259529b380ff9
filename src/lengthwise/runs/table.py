"""The table of a run: one row per model, weights, length and measure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars
from torch import Tensor

from lengthwise.runs.recipe import Recipe
from lengthwise.training import Hyperparameters, Trainer


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


def all_weights(trainer: Trainer, members: Sequence[Hyperparameters]) -> Iterator[Weights]:
    """The raw weights, then every EMA, each followed by its BEMAs."""
    yield Weights("raw", None)
    if trainer.average is None:
        return
    for ema_index in range(len(members[0].ema_powers)):
        ema_powers = [member.ema_powers[ema_index] for member in members]
        yield Weights("ema", trainer.average.weights_at(ema_index, None)["weights"], ema_powers)
        for bias_index in range(len(members[0].bias_powers)):
            bias_powers = [member.bias_powers[bias_index] for member in members]
            values = trainer.average.weights_at(ema_index, bias_index)["weights"]
            yield Weights("bema", values, ema_powers, bias_powers)


def measure_table(
    recipe: Recipe, members: Sequence[Hyperparameters], trainer: Trainer
) -> polars.DataFrame:
    """Measure a trained fleet with its own weights and every average, at every length.

    Columns: `model` (its number in the fleet), `seed`, `trial`, `weights` ("raw", "ema" or "bema"),
    `ema_power`, `bias_power`, `length`, `measure`, `value`, `inputs` (how many the value is a mean
    over), `exact` (whether these are all there are), `diverged` (the step, or null).
    """
    models = polars.DataFrame(
        {
            "model": range(len(members)),
            "seed": [member.seed for member in members],
            "trial": [member.trial for member in members],
            "diverged": [step if step >= 0 else None for step in trainer.diverged.tolist()],
        },
        schema_overrides={"diverged": polars.Int64},
    )
    pieces = []
    for weights in all_weights(trainer, members):
        powers = models.with_columns(
            polars.lit(weights.kind).alias("weights"),
            _column("ema_power", weights.ema_powers, len(members)),
            _column("bias_power", weights.bias_powers, len(members)),
        )
        for reading in recipe.measure(trainer, weights.values):
            pieces.append(
                powers.with_columns(
                    polars.lit(reading.length).alias("length"),
                    polars.lit(reading.measure).alias("measure"),
                    polars.Series("value", reading.values.tolist(), polars.Float64),
                    polars.lit(reading.inputs).alias("inputs"),
                    polars.lit(reading.exact).alias("exact"),
                )
            )
    return polars.concat(pieces)


def _column(name: str, values: list[float] | None, length: int) -> polars.Series:
    return polars.Series(name, values or [None] * length, polars.Float64)
