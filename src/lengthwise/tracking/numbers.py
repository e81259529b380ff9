"""Which numbers of runs, searches and comparisons are tracked, and by what names."""

import math
from collections.abc import Iterable, Sequence

import polars

MOST_MODELS = 32
"""Of more models than that, only the median loss is tracked."""

POINTS = 1000
"""The loss is tracked at about so many steps, evenly spaced."""


def every(steps: int) -> int:
    """After how many steps the loss is tracked."""
    return max(1, steps // POINTS)


def of_losses(losses: Sequence[float]) -> dict[str, float]:
    """`loss/median`, and `loss/model-N` of every model of a small fleet that did not diverge."""
    finite = {number: loss for number, loss in enumerate(losses) if math.isfinite(loss)}
    if not finite:
        return {}
    values = {"loss/median": sorted(finite.values())[len(finite) // 2]}
    if 1 < len(losses) <= MOST_MODELS:
        values |= {f"loss/model-{number}": loss for number, loss in finite.items()}
    return values


def of_measures(table: polars.DataFrame) -> dict[str, float]:
    """`MEASURE/WEIGHTS/length-N`: the mean over models that did not diverge, of a run's table.

    Weights are `raw`, or an average with its powers, such as `ema-0.5` and `bema-0.5-0.2`.
    """
    alive = table.filter(polars.col("diverged").is_null() & polars.col("value").is_finite())
    by = ("measure", "weights", "ema_power", "bias_power", "length")
    return {
        f"{measure}/{_weights(kind, powers)}/length-{length}": value
        for measure, kind, *powers, length, value in alive.group_by(*by, maintain_order=True)
        .agg(polars.col("value").mean())
        .iter_rows()
    }


def of_records(records: polars.DataFrame) -> dict[str, float]:
    """`TASK/REMEDY/MEASURE/WEIGHTS/length-N` of a comparison: means over models, at their end."""
    values = ("weights", "step", "length", "measure", "value")
    rows = records.select("task", "remedy", *values).explode(*values)
    last = rows.filter(polars.col("step") == polars.col("step").max().over("task", "remedy"))
    by = ("task", "remedy", "measure", "weights", "length")
    return {
        f"{task}/{remedy}/{measure}/{weights}/length-{length}": value
        for task, remedy, measure, weights, length, value in last.filter(
            polars.col("value").is_finite()
        )
        .group_by(*by, maintain_order=True)
        .agg(polars.col("value").mean())
        .iter_rows()
    }


def of_trials(trials: polars.DataFrame, best: tuple[float, int] | None) -> dict[str, float]:
    """Of some trials of a search the median of every number measured, and the best so far."""
    found = {} if best is None else {"best": best[0]}
    for name, kind in trials.schema.items():
        measured = name.endswith(("_within", "_beyond")) or name.rpartition("_")[2].isdigit()
        if kind.is_float() and measured:
            finite = trials[name].drop_nulls()
            middle = finite.filter(finite.is_finite()).median()
            if isinstance(middle, float):
                found[f"median/{name}"] = middle
    return found


def _weights(kind: str, powers: Iterable[float | None]) -> str:
    return "-".join([kind, *(f"{power:g}" for power in powers if power is not None)])
