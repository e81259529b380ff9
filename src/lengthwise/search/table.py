"""The tables of a search, and the Parquet file of a chunk that they are read from.

A chunk's file has one row per trial and set of weights: the columns of the trial table, then the
lengths and every measure at each of them as lists. It is named after its first trial and the
checksum of its content, because Parquet readers do not notice a flipped bit.
"""

import io
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars

from lengthwise.errors import InputError, require
from lengthwise.folders import require_checksum
from lengthwise.runs.table import Weights, all_weights
from lengthwise.search.distributions import Value
from lengthwise.search.space import Space, Trial
from lengthwise.training import Trainer

OTHERWISE = "move the file away, and the search runs its trials again"

_COLUMNS: dict[str, Any] = {
    "trial": polars.Int64, "factor": polars.String, "max_train_length": polars.Int64,
    "diverged": polars.Int64, "weights": polars.String, "ema_power": polars.Float64,
    "bias_power": polars.Float64, "length": polars.List(polars.Int64),
}  # fmt: skip
"""What every chunk's file has, beside what was searched and measured."""


def chunk_file(space: Space, trials: Sequence[Trial], trainer: Trainer) -> bytes:
    """Measure a trained fleet with all its weights; the content of the chunk's file."""
    recipe = trials[0].recipe
    rows = _trials(space, trials, trainer)
    pieces = []
    for weights in all_weights(trainer):
        measures: dict[str, dict[int, np.ndarray]] = {}
        for found in recipe.measure(trainer.fleet, weights.values):
            values = found.values.numpy(force=True).astype(np.float32)
            measures.setdefault(found.measure, {})[found.length] = values
        pieces.append(rows.with_columns(*_measured(weights, measures, recipe.max_train_length)))
    content = io.BytesIO()
    polars.concat(pieces).sort("trial", maintain_order=True).write_parquet(content)
    return content.getvalue()


def file_name(content: bytes) -> str:
    """The name of a chunk's file."""
    first = read_content(content, ["trial"])["trial"][0]
    return f"{first:07d}-{zlib.crc32(content):08x}.parquet"


def read_content(content: bytes, columns: Sequence[str]) -> polars.DataFrame:
    """Some columns of a chunk's file."""
    return polars.read_parquet(content, columns=list(columns))


def trial_numbers(files: Sequence[Path]) -> set[int]:
    """The trials of the chunks' files, each of which must be in one of them alone."""
    if not files:
        return set()
    found = _read(files, lambda names: ["trial"], with_file=True).unique()
    for number, file in found.filter(polars.col("trial").is_duplicated()).rows():
        raise InputError(f"{file}: trial {number} is recorded twice: remove the file")
    return set(found["trial"])


def trial_table(files: Sequence[Path]) -> polars.DataFrame:
    """One row per trial and set of weights.

    Columns: `trial`, `factor` (what a second twin differs in from the trial before), one per
    hyper-parameter that was searched, `max_train_length`, `diverged` (the step, or null), `weights`
    ("raw", "ema" or "bema"), `ema_power`, `bias_power`, and for every measure its means over the
    lengths up to the training length and beyond it, such as `tvd_within` and `tvd_beyond`.
    """
    return _read(files, lambda names: names[: names.index("length")])


def length_table(files: Sequence[Path]) -> polars.DataFrame:
    """One row per trial, set of weights and length, with a column per measure."""

    def chosen(names: list[str]) -> list[str]:
        return names[: names.index("bias_power") + 1] + names[names.index("length") :]

    def by_length(table: polars.DataFrame) -> polars.DataFrame:
        lists = table.columns[table.columns.index("length") :]
        return table.explode(lists).with_columns(polars.col(lists[1:]).cast(polars.Float64))

    return _read(files, chosen, by_length)


def _read(
    files: Sequence[Path],
    chosen: Callable[[list[str]], list[str]],
    change: Callable[[polars.DataFrame], polars.DataFrame] = lambda table: table,
    *,
    with_file: bool = False,
) -> polars.DataFrame:
    """The chosen columns of all chunks' files, in the order of the trials' numbers."""
    if not files:
        return polars.DataFrame(schema={"trial": polars.Int64})
    try:
        _require_whole(files)
        return _read_whole(files, chosen, change, with_file=with_file)
    except polars.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        place = f"{files[0].parent}: expected tables of one search ({reason})"
        raise InputError(f"{place}; {OTHERWISE}") from error


def _read_whole(
    files: Sequence[Path],
    chosen: Callable[[list[str]], list[str]],
    change: Callable[[polars.DataFrame], polars.DataFrame],
    *,
    with_file: bool,
) -> polars.DataFrame:
    def read(part: Sequence[Path]) -> polars.DataFrame:
        names = chosen(list(polars.read_parquet_schema(part[0])))
        scanned = polars.scan_parquet(list(part), include_file_paths="file")
        return change(scanned.select(*names, *(["file"] if with_file else [])).collect())

    try:
        table = read(files)
    except (polars.exceptions.SchemaError, polars.exceptions.ColumnNotFoundError):
        # Not all trials have the same measures: a null stands for one that a trial has not.
        table = polars.concat([read([file]) for file in files], how="diagonal_relaxed")
    return table.sort("trial", maintain_order=True)


def _require_whole(files: Sequence[Path]) -> None:
    for file in files:
        require_checksum(file, OTHERWISE)
        schema = polars.read_parquet_schema(file)
        for name, kind in _COLUMNS.items():
            found = schema.get(name)
            require(found == kind, f"{file}: column {name}", str(found), f"{kind}; {OTHERWISE}")


def _trials(space: Space, trials: Sequence[Trial], trainer: Trainer) -> polars.DataFrame:
    """One row per trial: its number, its hyper-parameters, whether it diverged."""
    columns: dict[str, Any] = {
        "trial": [trial.number for trial in trials],
        "factor": polars.Series([trial.factor for trial in trials], dtype=polars.String),
    }
    for name in space.searched:
        # Of one type in all files, even if this chunk has but the whole numbers of several.
        kind = polars.Series([_plain(end) for end in space.ends(name)], strict=False).dtype
        values = [_plain(trial.values[name]) for trial in trials]
        columns[name] = polars.Series(values, dtype=kind, strict=False)
    if "max_train_length" not in columns:
        columns["max_train_length"] = [trial.recipe.max_train_length for trial in trials]
    diverged = [step if step >= 0 else None for step in trainer.diverged.tolist()]
    columns["diverged"] = polars.Series(diverged, dtype=polars.Int64)
    return polars.DataFrame(columns)


def _measured(
    weights: Weights, measures: dict[str, dict[int, np.ndarray]], max_train_length: int
) -> list[polars.Series | polars.Expr]:
    """The columns that say which weights were measured, and what came out."""
    # Some measures are not defined at every length, such as that of the legal where all is legal.
    lengths = sorted({length for found in measures.values() for length in found})
    count = len(next(iter(next(iter(measures.values())).values())))
    unknown = np.full(count, np.nan, np.float32)
    values = {
        name: np.stack([found.get(length, unknown) for length in lengths], 1)
        for name, found in measures.items()
    }
    known = {name: np.isin(lengths, list(found)) for name, found in measures.items()}
    inside = np.array(lengths) <= max_train_length
    means = [
        polars.Series(f"{name}_{part}", _mean(found[:, chosen & known[name]]))
        for part, chosen in (("within", inside), ("beyond", ~inside))
        for name, found in values.items()
    ]
    powers = (("ema_power", weights.ema_powers), ("bias_power", weights.bias_powers))
    return [
        polars.lit(weights.kind).alias("weights"),
        *(polars.Series(name, given or [None] * count, polars.Float64) for name, given in powers),
        *means,
        polars.Series("length", [lengths] * count),
        *(polars.Series(name, found).arr.to_list() for name, found in values.items()),
    ]


def _mean(values: np.ndarray) -> np.ndarray:
    """Over the last axis; NaN where it is empty."""
    if values.shape[1] == 0:
        return np.full(len(values), np.nan)
    mean: np.ndarray = values.sum(1, dtype=np.float64) / values.shape[1]
    return mean


def _plain(value: Value) -> Any:
    """A value as a table can hold it."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
