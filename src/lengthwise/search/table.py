"""The records of a search as tables."""

import io
from collections.abc import Sequence

import numpy as np
import polars

from lengthwise.search.records import Buffer, Decoded, Layout, decode


def trial_table(records: Sequence[Buffer]) -> polars.DataFrame:
    """One row per trial and set of weights.

    Columns: `trial`, `factor` (what a second twin differs in from the trial before), one per
    hyper-parameter that was searched, `train_length`, `diverged` (the step, or null), `weights`
    ("raw", "ema" or "bema"), `ema_power`, `bias_power`, and for every measure its means over the
    lengths up to the training length and beyond it, such as `tvd_within` and `tvd_beyond`.
    """
    found: dict[Layout, list[tuple[polars.DataFrame, np.ndarray]]] = {}
    for group in decode(records):
        trials = _headers(group)
        means = _means(group, trials["train_length"].to_numpy())
        found.setdefault(group.layout, []).append((trials, means))
    pieces = []
    for layout, blocks in found.items():
        trials = polars.concat([trials for trials, _ in blocks], how="vertical_relaxed")
        order = trials["trial"].arg_sort().to_numpy()
        means = np.concatenate([means for _, means in blocks])[order]
        names = [f"{m}_{part}" for part in ("within", "beyond") for m in layout.measures]
        columns = {name: means[:, :, place].ravel() for place, name in enumerate(names)}
        pieces.append(_repeated(trials[order], layout, 1).with_columns(**columns))
    return _joined(pieces)


def length_table(records: Sequence[Buffer]) -> polars.DataFrame:
    """One row per trial, set of weights and length, with a column per measure."""
    pieces = []
    for group in decode(records):
        trials, weights, lengths, _ = group.readings.shape
        rows = _repeated(_headers(group), group.layout, lengths).with_columns(
            length=np.tile(np.array(group.layout.lengths), trials * weights)
        )
        for place, measure in enumerate(group.layout.measures):
            rows = rows.with_columns(
                polars.Series(measure, group.readings[..., place].ravel(), polars.Float64)
            )
        pieces.append(rows)
    return _joined(pieces)


def _joined(pieces: list[polars.DataFrame]) -> polars.DataFrame:
    """Tables of several layouts as one, in the order of the trials' numbers."""
    if not pieces:
        return polars.DataFrame(schema={"trial": polars.Int64})
    joined = polars.concat(pieces, how="vertical_relaxed")
    return joined if joined["trial"].is_sorted() else joined.sort("trial", maintain_order=True)


def _means(group: Decoded, train: np.ndarray) -> np.ndarray:
    """Means within and beyond each trial's training length: `(trials, weights, 2 x measures)`."""
    count, weights, _, measures = group.readings.shape
    means = np.full((count, weights, 2, measures), np.nan)
    for longest in np.unique(train):
        chosen = train == longest
        inside = int((np.array(group.layout.lengths) <= longest).sum())
        for place, part in enumerate((slice(inside), slice(inside, None))):
            readings = group.readings[chosen, :, part]
            if readings.shape[2]:
                means[chosen, :, place] = readings.sum(2, dtype=np.float64) / readings.shape[2]
    return means.reshape(count, weights, 2 * measures)


def _headers(group: Decoded) -> polars.DataFrame:
    """One row per trial: its number, its hyper-parameters, whether it diverged."""
    lines = io.BytesIO(b"\n".join(group.headers))
    trials = polars.read_ndjson(lines, infer_schema_length=None)
    if "train_length" in trials.schema["values"].to_schema():  # type: ignore[attr-defined]
        trials = trials.drop("train_length")
    trials = trials.unnest("values")
    first = ["trial", "factor"]
    return trials.select(
        polars.col("trial"),
        polars.col("factor").cast(polars.String),
        polars.exclude(*first, "diverged"),
        polars.col("diverged").cast(polars.Int64),
    )


def _repeated(trials: polars.DataFrame, layout: Layout, each: int) -> polars.DataFrame:
    """The columns that say which trial and weights a row is of, `each` rows for either."""
    count, weights = len(trials), len(layout.weights)
    kinds, emas, biases = zip(*layout.weights, strict=True)
    powers = polars.DataFrame(
        {"weights": kinds, "ema_power": emas, "bias_power": biases},
        schema_overrides={"ema_power": polars.Float64, "bias_power": polars.Float64},
    )
    rows = np.repeat(np.arange(count), weights * each)
    kinds_of_rows = np.tile(np.repeat(np.arange(weights), each), count)
    return polars.concat([trials[rows], powers[kinds_of_rows]], how="horizontal")
