"""Curves of a measure against the input length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars

from lengthwise.claims.statistics import estimate
from lengthwise.report.style import house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """One line of a plot: a table with columns `seed`, `length`, `value`, and how to draw it."""

    table: polars.DataFrame
    colour: str
    dashes: str = "-"
    marker: str = "o"


def draw_by_length(
    axes: "Axes",
    curves: Mapping[str, Curve],
    train_length: int,
    lengths: Sequence[int],
    ylabel: str,
) -> None:
    """Draw means over seeds with 95 % bands, and shade the lengths seen in training."""
    shade = axes.axvspan(lengths[0] - 0.5, train_length + 0.5, color="#f1f1ee", zorder=0, lw=0)
    shade.set_label("_training range")
    axes.text(
        train_length + 0.4, 1.01, "trained on these lengths", ha="right", va="bottom",
        fontsize=8.5, color="#6b6b6b", transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    for label, curve in curves.items():
        grouped = curve.table.group_by("length", maintain_order=True).agg("value").sort("length")
        estimates = [estimate(values) for values in grouped["value"].to_list()]
        xs = grouped["length"].to_list()
        axes.plot(
            xs, [one.mean for one in estimates],
            curve.dashes, color=curve.colour, marker=curve.marker, markersize=4.5, label=label,
        )  # fmt: skip
        if all(one.count > 1 for one in estimates):
            axes.fill_between(
                xs, [one.low for one in estimates], [one.high for one in estimates],
                color=curve.colour, alpha=0.18, lw=0,
            )  # fmt: skip
    axes.set_xlim(lengths[0] - 0.5, lengths[-1] + 0.5)
    axes.set_xticks(list(lengths) if len(lengths) <= 20 else list(lengths)[:: len(lengths) // 12])
    axes.set_xlabel("input length")
    axes.set_ylabel(ylabel)


def figure_by_length(
    curves: Mapping[str, Curve], train_length: int, lengths: Sequence[int], ylabel: str, title: str
) -> "Figure":
    """A whole figure with one set of curves."""
    with house_style():
        figure = new_figure(7.2, 4.3)
        axes = figure.subplots()
        draw_by_length(axes, curves, train_length, lengths, ylabel)
        axes.set_ylim(bottom=0)
        axes.set_title(title, pad=18)
        axes.legend(loc="upper left")
        return figure
