"""Pictures of a probe: measures against length, and slopes of every head."""

from typing import TYPE_CHECKING

import numpy as np
import polars

from lengthwise.probing.summary import HEADS
from lengthwise.report.style import COLOURS, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lengthwise.probing.table import ProbeTable

NAMES = {
    "std": "standard deviation of the output over sequences",
    "std_component": "standard deviation of one component",
    "global_mean": "mean of the output over all components",
    "global_variance": "variance of the output over all components",
    "mean_drift": "drift of the mean since the shortest length (its std there)",
    "entropy": "entropy of the weights (nats)",
    "effective_tokens": "effective number of attended tokens",
    "largest_weight": "largest weight",
    "top_mass": "mass of the largest weights",
    "first_mass": "mass on the first token",
}

LINEAR = ("global_mean", "mean_drift", "entropy")
"""Measures that may be zero or negative, or are logarithms already."""

GUIDES = {"std": -0.5, "std_component": -0.5, "effective_tokens": 1.0}
"""The slope that independent tokens would give."""

MANY_HEADS = 24
"""Beyond so many, heads are drawn faint and a median is drawn over them."""


def by_length(table: "ProbeTable", measure: str, place: str) -> "Figure":
    """One line per head, coloured by layer, their median, and the slope of theory as a guide."""
    rows = table.frame.filter(polars.col("measure") == measure, polars.col("place") == place)
    with house_style():
        figure = new_figure(7.2, 4.6)
        axes = figure.subplots()
        lengths = list(table.summaries)
        layers = rows["layer"].unique().sort().to_list()
        shades = _shades(len(layers))
        groups = rows.group_by("layer", "head", maintain_order=True)
        count = rows.select(polars.struct("layer", "head").n_unique()).item()
        faint = count > MANY_HEADS
        for (layer, _), group in groups:
            axes.plot(
                group["length"], group["value"], color=shades[layers.index(layer)],
                lw=0.7 if faint else 1.4, alpha=0.55 if faint else 0.9, zorder=2,
            )  # fmt: skip
        middle = rows.group_by("length").agg(polars.col("value").median()).sort("length")
        axes.plot(
            middle["length"], middle["value"], color="black", lw=2.4, marker="o", markersize=4.5,
            label="median head" if place == HEADS else "median layer", zorder=4,
        )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, labels=[str(length) for length in lengths])
        axes.minorticks_off()
        if measure not in LINEAR:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        if measure in GUIDES:
            draw_guide(axes, lengths, GUIDES[measure], float(middle["value"][0]))
        axes.set_xlabel("input length N")
        axes.set_ylabel(NAMES[measure], fontsize=9)
        axes.set_title(table.label, fontsize=10)
        axes.legend(loc="best")
        _layer_bar(figure, axes, layers)
        return figure


def draw_guide(
    axes: "Axes", lengths: list[int], slope: float, start: float, colour: str = "orange"
) -> None:
    """A dashed line of the given slope through the first value."""
    label = "slope -1/2" if slope == -0.5 else f"slope {slope:g}"
    ends = np.array([lengths[0], lengths[-1]], dtype=float)
    axes.plot(
        ends, start * (ends / ends[0]) ** slope, "--", color=COLOURS[colour], lw=1.8,
        label=label, zorder=5,
    )  # fmt: skip


def heat_map(table: "ProbeTable", measure: str) -> "Figure":
    """Slopes by layer and head: white is flat, dark purple is falling by -1/2 or more."""
    slopes = table.slopes().filter(polars.col("measure") == measure, polars.col("place") == HEADS)
    layers = slopes["layer"].unique().sort().to_list()
    heads = slopes["head"].max()
    assert isinstance(heads, int)
    grid = np.full((len(layers), heads + 1), np.nan)
    for layer, head, slope in slopes.select("layer", "head", "slope").iter_rows():
        grid[layers.index(layer), head] = slope
    reach = float(np.max(np.abs(grid), initial=0.5, where=np.isfinite(grid)))
    with house_style():
        height = 1.7 + 0.22 * max(len(layers), 4)
        figure = new_figure(min(3.2 + 0.5 * (heads + 1), 12.0), height)
        axes = figure.subplots()
        image = axes.imshow(grid, cmap="PuOr_r", vmin=-reach, vmax=reach, aspect="auto")
        if heads < 20:
            for row, column in np.argwhere(np.isfinite(grid)):
                value = round(grid[row, column], 2) + 0.0  # never -0.00
                axes.text(
                    column, row, f"{value:.2f}", ha="center", va="center", fontsize=7,
                    color="white" if abs(value) > 0.55 * reach else "black",
                )  # fmt: skip
        bar = figure.colorbar(image, ax=axes, pad=0.02)
        bar.set_label(f"slope of log {measure.replace('_', ' ')} on log N", fontsize=8.5)
        step = max(1, len(layers) // 16)
        axes.set_yticks(range(0, len(layers), step), labels=[str(n) for n in layers[::step]])
        axes.set_xticks(range(0, heads + 1, max(1, (heads + 1) // 16)))
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.grid(visible=False)
        axes.set_title(table.label, fontsize=10)
        return figure


def _shades(count: int) -> np.ndarray:
    from matplotlib import colormaps

    return np.asarray(colormaps["viridis"](np.linspace(0, 0.92, max(count, 2))))


def _layer_bar(figure: "Figure", axes: "Axes", layers: list[int]) -> None:
    """A colour scale that tells early layers from late ones."""
    if len(layers) < 2:
        return
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    colours = ListedColormap(list(_shades(256)))
    scale = ScalarMappable(Normalize(layers[0], layers[-1]), colours)
    figure.colorbar(scale, ax=axes, pad=0.02, label="layer")
