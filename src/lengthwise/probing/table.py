"""The table that a probe gives: every measure by length, its slopes, and what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars
import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.files import write_text, write_with
from lengthwise.probing import figures, weights
from lengthwise.probing.summary import HEADS, OUTPUT_MEASURES, Summary
from lengthwise.probing.verdict import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLOPES = ("std", "std_component", "effective_tokens")
"""Measures whose logarithm is fitted by a line over log N."""

MEASURES = (*OUTPUT_MEASURES, "mean_drift", *weights.MEASURES)

ORDER = ("layer", "place", "head", "measure")

INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class ProbeTable:
    """What attention did at every length."""

    label: str
    """What was probed, for titles."""
    summaries: Mapping[int, Summary]
    """By length, ascending."""
    sequences: int
    """How many sequences were read at each length."""
    logit_difference: float
    """The largest change of a logit between the model watched and unwatched."""
    notes: tuple[str, ...] = ()
    """What a reader should know of the sequences."""

    @cached_property
    def frame(self) -> polars.DataFrame:
        """One row per length, layer, head and measure.

        Columns: `length`, `layer`, `head` (null for the whole layer), `place` ("heads": before the
        output projection, "projected": after it), `measure`, `value`, `low` and `high` (95 %,
        bootstrap over sequences), `sequences`.
        """
        first = next(iter(self.summaries.values()))
        pieces = []
        for length, summary in self.summaries.items():
            for (layer, place, measure), rows in summary.estimates.items():
                low, high = _interval(rows.numpy())
                pieces.append(_rows(length, layer, place, measure, rows[0].numpy(), low, high))
            for (layer, place), mean in summary.means.items():
                start, unit = first.means[layer, place], first.estimates[layer, place, "std"][0]
                drift = (mean - start).square().mean(-1).sqrt() / unit
                pieces.append(_rows(length, layer, place, "mean_drift", drift.numpy()))
        frame = polars.concat(pieces).with_columns(sequences=polars.lit(self.sequences))
        return frame.sort("length", *ORDER)

    def slopes(self) -> polars.DataFrame:
        """Slope of each head's log measure on log N, with its 95 % interval.

        Columns: `layer`, `head` (null for the whole layer), `place`, `measure`, `slope`, `low`,
        `high`.
        """
        lengths = list(self.summaries)
        pieces = []
        for key in self.summaries[lengths[0]].estimates:
            layer, place, measure = key
            if measure in SLOPES:
                values = torch.stack([s.estimates[key] for s in self.summaries.values()])
                slope, low, high = fit_slopes(lengths, values)
                pieces.append(_rows(0, layer, place, measure, slope, low, high))
        return polars.concat(pieces).drop("length").rename({"value": "slope"}).sort(*ORDER)

    def verdict(self) -> str:
        """What the slopes say, in a few sentences."""
        return verdict(self)

    def plot(self, measure: str = "std", place: str = HEADS) -> "Figure":
        """A measure against the length, a line per head, on logarithmic axes.

        Args:
            measure: Which measure, such as `effective_tokens`.
            place: Where it is measured: in the heads, or in the output of the layer.

        Raises:
            InputError: There is no such measure.
        """
        require_name(measure, MEASURES, "measure")
        return figures.by_length(self, measure, place)

    def heat_map(self, measure: str = "std") -> "Figure":
        """The slope of a measure in every layer and head.

        Args:
            measure: Which measure, `std`, `std_component` or `effective_tokens`.

        Raises:
            InputError: The measure has no slopes.
        """
        require_name(measure, SLOPES, "measure")
        return figures.heat_map(self, measure)

    def save(self, folder: Path) -> None:
        """Write table, slopes, figures and verdict into a folder.

        Args:
            folder: The folder, which is made if it is missing.
        """
        from lengthwise.report.style import save

        folder.mkdir(parents=True, exist_ok=True)
        write_with(folder / "table.parquet", self.frame.write_parquet)
        write_with(folder / "table.csv", self.frame.write_csv)
        for measure in ("std", "effective_tokens"):
            save(self.plot(measure), folder / f"{measure}.png")
        if len(self.summaries) >= 2:
            write_with(folder / "slopes.csv", self.slopes().write_csv)
            save(self.heat_map("std"), folder / "slopes.png")
        write_text(folder / "verdict.txt", self.verdict() + "\n")


def fit_slopes(lengths: Sequence[int], values: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slope of log values on log N, and its interval, of each group.

    Args:
        lengths: The values of N, at least two.
        values: `(lengths, 1 + resamples, groups)`, the estimates of a measure at each length.
    """
    require(len(lengths) >= 2, "lengths", list(lengths), "at least two, to fit a slope")
    log_length = torch.tensor(lengths, dtype=torch.float64).log()
    away = log_length - log_length.mean()
    fits = (torch.tensordot(away, values.double().log(), 1) / away.square().sum()).numpy()
    return fits[0], *_interval(fits)


def _interval(rows: np.ndarray) -> np.ndarray:
    """Between which resamples an estimate lies. One of them may be the logarithm of zero."""
    return np.quantile(rows[1:], INTERVAL, axis=0, method="inverted_cdf")


def _rows(
    length: int,
    layer: int,
    place: str,
    measure: str,
    value: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> polars.DataFrame:
    groups = len(value)
    head: Sequence[int | None] = range(groups) if place == HEADS else [None] * groups
    nothing = np.full(groups, np.nan)
    return polars.DataFrame(
        {
            "length": length,
            "layer": layer,
            "head": polars.Series(head, dtype=polars.Int64),
            "place": place,
            "measure": measure,
            "value": value,
            "low": nothing if low is None else low,
            "high": nothing if high is None else high,
        },
        schema_overrides=dict.fromkeys(("value", "low", "high"), polars.Float64),
    ).with_columns(polars.col("low", "high").fill_nan(None))
