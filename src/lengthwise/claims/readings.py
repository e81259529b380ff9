"""Kinds of weights in words: "raw", "EMA 0.5", "BEMA 0.5 0.2"."""

import polars


def kind_of_weights() -> polars.Expr:
    """The words out of a table's columns `weights`, `ema_power` and `bias_power`."""
    powers = (
        polars.when(polars.col(power).is_null())
        .then(polars.lit(""))
        .otherwise(polars.format(" {}", power))
        for power in ("ema_power", "bias_power")
    )
    names = {"raw": "raw", "ema": "EMA", "bema": "BEMA"}
    return polars.concat_str(polars.col("weights").replace_strict(names), *powers)
