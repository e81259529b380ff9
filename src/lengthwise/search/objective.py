"""What makes one trial better than another."""

from collections.abc import Mapping
from typing import Any

import polars

from lengthwise.errors import require, require_name
from lengthwise.measures.baselines import HIGH_IS_GOOD


def maximised(objective: str) -> bool:
    """Whether more of it is better."""
    return objective.rpartition("_")[0] in HIGH_IS_GOOD


def require_objective(objective: str) -> None:
    """Raise `InputError` unless it is `MEASURE_within` or `MEASURE_beyond`."""
    measure, _, part = objective.rpartition("_")
    fits = bool(measure) and part in ("within", "beyond")
    require(fits, "objective", objective, "a measure within or beyond, such as tvd_beyond")


def ranked(table: polars.DataFrame, objective: str) -> polars.DataFrame:
    """The rows of a trial table, best first: of every trial its best weights.

    Trials that diverged, or have no number to compare, are left out.

    Raises:
        InputError: The table has no such column.
    """
    known = [name for name in table.columns if name.endswith(("_within", "_beyond"))]
    require_name(objective, known, "objective")
    return (
        table.filter(polars.col("diverged").is_null(), polars.col(objective).is_not_nan())
        .sort(objective, "trial", descending=[maximised(objective), False], maintain_order=True)
        .unique("trial", keep="first", maintain_order=True)
    )


def weights_name(row: Mapping[str, Any]) -> str:
    """Which weights a row is of, such as "bema 0.5 0.2"."""
    powers = [f"{row[name]:g}" for name in ("ema_power", "bias_power") if row[name] is not None]
    return " ".join([row["weights"], *powers])
