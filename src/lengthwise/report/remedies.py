"""Pictures of remedies before any training: each beside plain attention, and all on one sheet."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil

from rich.table import Table

from lengthwise.measures.profile import LENGTHS, TRAINED, Profile, profile
from lengthwise.report.numbers import number
from lengthwise.report.style import COLOURS, Axes, Figure, as_svg, house_style, new_panels

PLAIN = "plain attention"
DISTANCES = (0, 1, 2, 4, 8, 16, 32, TRAINED - 1)
"""Those that a table shows."""
BAR = 20
"""Characters of a weight of 1."""


@cache
def plain() -> Profile:
    """Softmax without positions: what every remedy is drawn beside."""
    return profile("none")


@house_style()
def remedy_figure(name: str, found: Profile) -> Figure:
    """Weight over distance, largest weight and deviation of the output over length."""
    figure, (left, middle, right) = new_panels(9.6, 2.7, 1, 3)
    _draw_distance(left, name, found)
    _draw_lengths(middle, found.largest, plain().largest)
    middle.set_title("largest weight")
    _draw_lengths(right, found.deviation, plain().deviation)
    right.set_title("size of the output")
    return figure


@house_style()
def contact_sheet(found: Mapping[str, Mapping[str, Profile]], columns: int = 6) -> Figure:
    """The largest weight against length, one small panel per remedy, coloured by its kind.

    Those whose largest weight is that of plain attention are left out.

    Args:
        found: Profiles by kind and name.
        columns: Panels in a row.
    """
    shown = [
        (name, one, colour)
        for own, colour in zip(found.values(), COLOURS.values(), strict=False)
        for name, one in own.items()
        if any(abs(a - b) > 0.01 for a, b in zip(one.largest, plain().largest, strict=True))
    ]
    rows = ceil(len(shown) / columns)
    figure, grid = new_panels(
        1.75 * columns, 1.3 * rows + 0.3, rows, columns, sharex=True, sharey=True, squeeze=False
    )
    panels = grid.flatten()
    for axes, (name, one, colour) in zip(panels, shown, strict=False):
        _draw_lengths(axes, one.largest, plain().largest, colour)
        axes.set_title(name, fontsize=8.5, color=colour)
        axes.set_xlabel("")
        axes.set_ylim(0.001, 1.6)
        axes.tick_params(labelsize=7)
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    figure.supxlabel("input length; dotted: the longest of training", fontsize=9)
    figure.supylabel("largest weight; dashed: plain attention", fontsize=9)
    return figure


def small_svg(figure: Figure) -> str:
    """A figure for a page that shows many: letters as letters, coordinates to a tenth."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        text = as_svg(figure)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', sans-serif")
    # Within tags only: what a person reads, such as 0.03 at an axis, stays as it is.
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), text)


def distance_table(found: Profile) -> Table:
    """Mean weight over distance, head by head."""
    table = _table(f"Mean weight of a key so many places back, in {TRAINED} tokens that are alike")
    table.add_column("head", justify="right")
    for distance in DISTANCES:
        table.add_column(str(distance), justify="right")
    rows = found.by_distance[:, list(DISTANCES)]
    alike = (rows - rows[:1]).abs().max() < 1e-6
    for head, row in enumerate(rows[:1] if alike else rows, start=1):
        table.add_row("all" if alike else str(head), *map(number, row.tolist()))
    table.add_row("plain", *map(number, plain().by_distance[0, list(DISTANCES)].tolist()))
    return table


def length_table(name: str, found: Profile) -> Table:
    """Largest weight and size of the output over length, beside plain attention."""
    table = _table(f"As inputs grow; the longest of training has {TRAINED} tokens")
    heads = ("length", f"largest weight:\n{name}", "\nplain", f"size of output:\n{name}", "\nplain")
    for head in heads:
        table.add_column(head, justify="right")
    columns = found.largest, plain().largest, found.deviation, plain().deviation
    table.add_column("largest weight: #\nplain: |", min_width=BAR + 1)
    for length, *values in zip(LENGTHS, *columns, strict=True):
        own, other = (round(BAR * value) for value in values[:2])
        bar = ("#" * own).ljust(BAR + 1)
        table.add_row(str(length), *map(number, values), f"{bar[:other]}|{bar[other + 1 :]}")
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))


def _draw_distance(axes: Axes, name: str, found: Profile) -> None:
    distances = range(found.by_distance.shape[-1])
    shades = (COLOURS["blue"], "#4a9bcb", "#8cc3e3", "#c2e0f2")
    for place, (head, shade) in enumerate(zip(found.by_distance.tolist(), shades, strict=True)):
        axes.plot(distances, head, color=shade, lw=1.5, zorder=3 - 0.1 * place)
    axes.plot(distances, plain().by_distance[0], "--", color=COLOURS["grey"], lw=1.2, zorder=4)
    lowest, highest = float(found.by_distance.min()), float(found.by_distance.max())
    axes.set_ylim(min(0.0, 1.1 * lowest), 1.15 * max(highest, 2 / len(distances)))
    axes.set_xlabel("distance of the key")
    axes.set_title(f"{name}: mean weight")


def _draw_lengths(
    axes: Axes, own: Sequence[float], other: Sequence[float], colour: str = COLOURS["blue"]
) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.axvline(TRAINED, color=COLOURS["grey"], lw=1, ls=":")
    axes.plot(LENGTHS, other, "--", color=COLOURS["grey"], lw=1.2)
    axes.plot(LENGTHS, own, "o-", color=colour, lw=1.5, markersize=3)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([8, 64, 512], labels=["8", "64", "512"])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_ylim(min(0.01, 0.7 * min(own)), max(1.5, 1.3 * max(own)))
    axes.set_xlabel("input length")
