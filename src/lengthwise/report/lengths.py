"""Curves of a measure against the input length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from lengthwise.claims import Results
from lengthwise.claims.arms import Line, readings
from lengthwise.claims.statistics import estimate
from lengthwise.measures import Baseline
from lengthwise.report.style import COLOURS, Axes, Figure, house_style, new_panels

MOST_LABELS = 8
"""Beyond this many lengths on a logarithmic axis, every other one is written down."""

VISIBLE = 0.02
"""Two lines that are nearer than that, as a part of their height, are drawn as one."""

MARGIN = 1.3
"""Room at both ends of a logarithmic axis, as a factor."""


@dataclass(frozen=True)
class Curve:
    """One line of a plot: a table with columns `seed`, `length`, `value`, and how to draw it."""

    table: polars.DataFrame
    """Rows with `length`, `seed` and `value`."""
    colour: str
    """A colour of matplotlib."""
    dashes: str = "-"
    """A line style of matplotlib."""
    marker: str = "o"
    """A marker of matplotlib."""


def curves_of(results: Results, lines: Mapping[str, Line], measure: str) -> dict[str, Curve]:
    """One measure of runs by their labels, to be drawn.

    Args:
        results: What an experiment gave.
        lines: How each run is drawn, by its label.
        measure: Which measure, such as `tvd`.
    """
    return {
        line.title: Curve(readings(results, label, measure), *line[1:])
        for label, line in lines.items()
    }


def draw_by_length(
    axes: Axes,
    curves: Mapping[str, Curve],
    trained: int | tuple[int, int],
    lengths: Sequence[int],
    ylabel: str,
    baseline: Sequence[Baseline] = (),
) -> None:
    """Draw means over seeds with 95 % bands, and shade the lengths seen in training.

    Those are all up to `trained`, or a band from one length to another. The axis is linear for a
    band, or if `lengths` are all there are around `trained`, else logarithmic.
    Thin lines show what `baseline` has for those lengths: what can be had without reading.

    Args:
        axes: Where to draw.
        curves: What to draw, by the words of the legend.
        trained: Up to where training went, or from where to where.
        lengths: Lengths to draw, in order.
        ylabel: What the numbers are.
        baseline: What can be had without reading the input.
    """
    if isinstance(trained, tuple):
        axes.set_xlim(lengths[0] - 0.5, lengths[-1] + 0.5)
        _shade(axes, trained[0] - 0.5, trained[1] + 0.5)
        _note(axes, trained[0] - 0.5, f"trained on {trained[0]} to {trained[1]}", "left")
        axes.set_xticks([one for one in lengths if one % 2 == 0 or len(lengths) < MOST_LABELS])
    elif trained in lengths and lengths[-1] - lengths[0] < len(lengths):
        _linear_axis(axes, trained, lengths)
    else:
        _logarithmic_axis(axes, trained, lengths)
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
    _draw_baseline(axes, baseline)
    axes.set(xlabel="input length", ylabel=ylabel)


def _draw_baseline(axes: Axes, baseline: Sequence[Baseline]) -> None:
    """Chance, and what the length alone gives where that is not the same."""
    if not baseline:
        return
    xs = [one.length for one in baseline]
    style: dict[str, Any] = {"color": COLOURS["grey"], "lw": 1.0, "zorder": 2.2}
    axes.plot(xs, [one.chance for one in baseline], ":", label="chance", **style)
    if any(abs(one.chance - one.length_only) > VISIBLE * one.chance for one in baseline):
        axes.plot(xs, [one.length_only for one in baseline], "--", label="length only", **style)


def _linear_axis(axes: Axes, max_train_length: int, lengths: Sequence[int]) -> None:
    axes.set_xlim(lengths[0] - 0.5, lengths[-1] + 0.5)
    axes.set_xticks(list(lengths) if len(lengths) <= 20 else list(lengths)[:: len(lengths) // 12])
    _shade(axes, lengths[0] - 0.5, max_train_length + 0.5)
    _note(axes, max_train_length + 0.4, "trained on these lengths", "right")


def _logarithmic_axis(axes: Axes, max_train_length: int, lengths: Sequence[int]) -> None:
    first, last = min(lengths[0], max_train_length) / MARGIN, lengths[-1] * MARGIN
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    every = 1 + (len(lengths) > MOST_LABELS)
    labels = [str(n) if place % every == 0 else "" for place, n in enumerate(lengths)]
    axes.set_xticks(list(lengths), labels)
    axes.xaxis.minorticks_off()
    _shade(axes, first, max_train_length)
    # Most of the axis lies beyond the training lengths: there is no room for words above them.
    axes.axvline(max_train_length, color="#6b6b6b", lw=1, ls=":", zorder=2)
    _note(axes, first, f"trained on lengths up to {max_train_length}", "left")


def _shade(axes: Axes, first: float, last: float) -> None:
    axes.axvspan(first, last, color="#f1f1ee", zorder=0, lw=0)


def _note(axes: Axes, x: float, text: str, side: str) -> None:
    """Words above the axes, beginning or ending at `x`."""
    axes.text(
        x, 1.01, text, ha=side, va="bottom", fontsize=8.5, color="#6b6b6b",
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


@house_style()
def figure_by_length(
    curves: Mapping[str, Curve],
    max_train_length: int,
    lengths: Sequence[int],
    ylabel: str,
    title: str,
    baseline: Sequence[Baseline] = (),
) -> Figure:
    """A whole figure with one set of curves.

    Args:
        curves: What to draw, by the words of the legend.
        max_train_length: Up to where training went.
        lengths: Lengths to draw, in order.
        ylabel: What the numbers are.
        title: What stands above it.
        baseline: What can be had without reading the input.
    """
    figure, axes = new_panels(7.2, 4.3)
    draw_by_length(axes, curves, max_train_length, lengths, ylabel, baseline)
    if all((curve.table["value"] >= 0).all() for curve in curves.values()):
        axes.set_ylim(bottom=0)
    axes.set_title(title, pad=18)
    axes.legend(loc="best")
    return figure
