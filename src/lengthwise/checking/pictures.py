"""Pictures of a check: behaviour above mechanism, needles, positions, distances, what-ifs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars

from lengthwise.checking.needles import DEPTHS
from lengthwise.checking.table import by_distance, by_position
from lengthwise.checking.verdict import best_remedy, first_break
from lengthwise.claims import Picture
from lengthwise.claims.statistics import Estimate, estimate
from lengthwise.probing.summary import HEADS
from lengthwise.report.style import COLOURS, Axes, Figure, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from lengthwise.checking.result import Check

STRETCHED = {"interpolation": "blue", "dynamic-ntk": "green", "yarn": "orange"}
"""Colours of the what-ifs that come at several factors; a larger factor is drawn darker."""

OTHERS = {
    "window": ("purple", "s"), "blockwise": ("purple", "D"), "log-n": ("black", "^"),
    "adaptive-temperature": ("black", "v"), "rescale": ("grey", "P"), "rotary-off": ("grey", "X"),
}  # fmt: skip
"""Colours and marks of the others: what hides keys, what sharpens, and the rest."""


ENOUGH = 4
"""With fewer sequences each is drawn as a point: an interval would fill the figure. Ours."""


def pictures(check: "Check") -> list[Picture]:
    """All that can be drawn of a check."""
    drawn = [
        _picture(
            check, "by-length", _by_length,
            "Behaviour above mechanism over the same lengths. Loss is on the same tokens at every "
            "length, minus that at the shortest, paired over documents (95 %). Below: what "
            "attention does at these tokens; thin lines are heads. With few sequences each is a "
            "point. The dashed line is the length that the configuration claims, the dotted one "
            "the first break.",
            "Loss, copying and needles by length, and below them what attention does",
        ),
        _picture(
            check, "positions", _positions,
            f"Loss by position in one pass of {check.lengths[-1]} tokens, in buckets (95 % over "
            "documents), each with other tokens: what a reader of perplexity sees. Where a what-if "
            "lowers the loss at this length, the best one is drawn beside it.",
            "Loss by position",
        ),
        _picture(
            check, "distances", _distances,
            "Copying out of order: accuracy by how far back the copied token stands. The second "
            "half has the blocks of the first in another order; the first tokens of a block say "
            "which one it is and are not scored.",
            "Copy accuracy by distance, a line per length",
        ),
    ]  # fmt: skip
    if any(len(one.needle_rank) for one in check.behaviours.values()):
        drawn.insert(
            1,
            _picture(
                check, "needles", _needles,
                "Log-probability of the answer's tokens, mean over haystacks and tokens, by how "
                "deep the needle lies and how long the input is; in brackets the share of answers "
                "that were the most likely ones.",
                "Heat map of needles by depth and length",
            ),
        )  # fmt: skip
    if check.changed:
        drawn.append(
            _picture(
                check, "what-ifs", _what_ifs,
                "Loss with a what-if minus loss of the plain model on the same tokens, mean over "
                "documents. Below 0 it helps. Rises above the axis are cut off.",
                "Loss of every what-if against the plain model by length",
            )
        )  # fmt: skip
    return drawn


def _picture(
    check: "Check", name: str, draw: Callable[["Check"], Figure], caption: str, alt: str
) -> Picture:
    with house_style():
        return Picture(name, as_svg(draw(check)), caption, alt)


def _by_length(check: "Check") -> Figure:
    moved = check.moved
    rows = 2 if moved is None else 4
    figure = new_figure(7.6, 1.2 + 1.75 * rows)
    panels = figure.subplots(rows, 1, sharex=True)
    _loss(panels[0], check)
    _scores(panels[1], check)
    if moved is not None:
        _attended(panels[2], check)
        _moved(panels[3], check)
    _lengths_axis(panels[-1], check.lengths)
    broken = first_break(check)
    claimed = check.positions.claimed
    if claimed is not None and check.lengths[0] <= claimed < 2 * check.lengths[-1]:
        _upright(panels, claimed, "claimed", color="#333333", lw=1, ls="--")
    if broken is not None:
        label = f"first break ({broken.rule})"
        _upright(panels, broken.length, label, color=COLOURS["orange"], lw=1.4, ls=":")
    panels[0].set_title(check.settings.model, pad=16)
    return figure


def _upright(panels: Sequence[Axes], length: float, label: str, **style: Any) -> None:
    """A line through all panels, named above the first."""
    for axes in panels:
        axes.axvline(length, zorder=1, **style)
    panels[0].annotate(
        label, (length, 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, color=style["color"],
    )  # fmt: skip


def _loss(axes: Axes, check: "Check") -> None:
    changes = [check.loss_change(length, check.lengths[0]) for length in check.lengths]
    _band(axes, check.lengths, changes, "blue", "loss on the same tokens")
    axes.axhline(0, color="#333333", lw=0.8)
    axes.set_ylabel("loss minus loss at\nthe shortest (nats)", fontsize=8.5)


def _scores(axes: Axes, check: "Check") -> None:
    copying = {n: one.copy_gain.tolist() for n, one in check.behaviours.items()}
    found = {n: one.found.tolist() for n, one in check.behaviours.items() if len(one.needle_rank)}
    for scores, colour, label in (
        (copying, "green", "copying, minus what is guessed"),
        (found, "purple", "needles found"),
    ):
        if not scores:
            continue
        few = check.settings.sequences < ENOUGH
        _band(
            axes, list(scores), [estimate(row) for row in scores.values()], colour, label,
            shaded=not few,
        )  # fmt: skip
        for length, row in scores.items() if few else ():
            axes.plot([length] * len(row), row, ".", color=COLOURS[colour], alpha=0.45, ms=5)
    axes.set_ylim(-0.05, 1.05)
    axes.set_ylabel("share right", fontsize=8.5)
    axes.legend(fontsize=8, loc="best")


def _attended(axes: Axes, check: "Check") -> None:
    probe = check.probe
    assert probe is not None
    heads = probe.frame.filter(place=HEADS)
    for measure, colour, label in (
        ("entropy", "blue", "entropy over log n"),
        ("largest_weight", "orange", "largest weight"),
        ("first_mass", "green", "mass on the first token"),
    ):
        middle = (
            heads.filter(measure=measure)
            .group_by("length").agg(polars.col("value").median()).sort("length")
        )  # fmt: skip
        values = middle["value"].to_numpy()
        if measure == "entropy":
            values = values / np.log(middle["length"].to_numpy())
        axes.plot(middle["length"], values, "o-", color=COLOURS[colour], markersize=4, label=label)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("attention of the\nmedian head", fontsize=8.5)
    axes.legend(fontsize=8, loc="best")


def _moved(axes: Axes, check: "Check") -> None:
    moved = check.moved
    assert moved is not None
    for _, head in moved.frame.group_by("layer", "head", maintain_order=True):
        axes.plot(head["length"], head["distance"], color=COLOURS["grey"], lw=0.5, alpha=0.4)
    middle = moved.frame.group_by("length").agg(polars.col("distance").median()).sort("length")
    axes.plot(
        middle["length"], middle["distance"], "o-", color="black", markersize=4, label="median head"
    )
    for layer, head in moved.first.select("layer", "head").head(3).iter_rows():
        one = moved.frame.filter(layer=layer, head=head)
        axes.plot(
            one["length"], one["distance"], lw=1.4, color=COLOURS["orange"],
            label="first to move" if axes.get_legend_handles_labels()[1][-1] == "median head"
            else None,
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"outputs moved since\n{moved.reference} tokens", fontsize=8.5)
    axes.legend(fontsize=8, loc="best")


def _positions(check: "Check") -> Figure:
    figure = new_figure(7.2, 2.9)
    axes = figure.subplots()
    buckets = by_position(check.behaviours[check.lengths[-1]])
    places = [at for at, _ in buckets]
    _band(axes, places, [estimate(values.tolist()) for _, values in buckets], "blue", "plain")
    best = best_remedy(check) if check.changed else None
    if best is not None and best[1] == check.lengths[-1]:
        mended = by_position(check.changed[best[0]][best[1]])
        means = [float(values.mean()) for _, values in mended]
        axes.plot(places, means, "s--", color=COLOURS["orange"], markersize=4, label=best[0])
        axes.legend(fontsize=8, loc="best")
    claimed = check.positions.claimed
    if claimed is not None and claimed < check.lengths[-1]:
        _upright([axes], claimed, "claimed", color="#333333", lw=1, ls="--")
    axes.set_xlabel("position")
    axes.set_ylabel("loss (nats)")
    axes.set_title(check.settings.model, pad=16)
    return figure


def _distances(check: "Check") -> Figure:
    figure = new_figure(7.2, 2.9)
    axes = figure.subplots()
    shades = _shades(len(check.lengths))
    for shade, (length, one) in zip(shades, check.behaviours.items(), strict=True):
        buckets = by_distance(one)
        axes.plot(
            [at for at, _ in buckets], [float(values.mean()) for _, values in buckets], "o-",
            color=shade, markersize=4, label=str(length),
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("distance to the copied token")
    axes.set_ylabel("accuracy out of order")
    axes.set_title(check.settings.model)
    axes.legend(title="length", fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _needles(check: "Check") -> Figure:
    asked = {n: one for n, one in check.behaviours.items() if len(one.needle_rank)}
    grid = np.stack([one.needle_log_probability.mean(0).numpy() for one in asked.values()], axis=1)
    found = np.stack([(one.needle_rank == 0).double().mean(0) for one in asked.values()], axis=1)
    figure = new_figure(7.2, 3.2)
    axes = figure.subplots()
    image = axes.imshow(grid, cmap="viridis", aspect="auto", vmax=0)
    middle = (float(grid.min()) + 0.0) / 2
    for row, column in np.ndindex(*grid.shape):
        likely = round(float(grid[row, column]), 1) + 0.0  # never -0.0
        axes.text(
            column, row, f"{likely:.1f}\n({found[row, column]:.2g})", ha="center", va="center",
            fontsize=7.5, color="black" if grid[row, column] > middle else "white",
        )  # fmt: skip
    axes.set_xticks(range(len(asked)), labels=[str(n) for n in asked])
    axes.set_yticks(range(len(DEPTHS)), labels=[f"{depth:g}" for depth in DEPTHS])
    axes.set_xlabel("length")
    axes.set_ylabel("depth (0: start)")
    axes.grid(visible=False)
    figure.colorbar(image, ax=axes, pad=0.02).set_label("log-probability (nats)", fontsize=8.5)
    axes.set_title(check.settings.model)
    return figure


def _what_ifs(check: "Check") -> Figure:
    figure = new_figure(7.8, 4.2)
    axes = figure.subplots()
    lowest = highest = 0.0
    for name, found in check.changed.items():
        kind, _, factor = name.rpartition("-")
        lengths = list(found)
        values = [check.loss_against_plain(name, n).mean for n in lengths]
        lowest, highest = min([lowest, *values]), max([highest, *values])
        if kind in STRETCHED:
            style: dict[str, Any] = {"color": COLOURS[STRETCHED[kind]], "marker": "o",
                     "alpha": min(1.0, 0.35 + 0.08 * float(factor))}  # fmt: skip
        else:
            colour, mark = OTHERS[name]
            style = {"color": COLOURS.get(colour, colour), "marker": mark, "ls": "--", "lw": 1.2}
        axes.plot(lengths, values, markersize=4.5, label=name, **style)
    axes.axhline(0, color="black", lw=1)
    axes.set_ylim(1.1 * min(lowest, -0.05), 1.1 * min(max(highest, 0.05), 2.0))
    _lengths_axis(axes, check.lengths)
    axes.set_ylabel("loss minus plain (nats)")
    axes.set_title(check.settings.model)
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _band(
    axes: Axes,
    places: Sequence[float],
    estimates: Sequence[Estimate],
    colour: str,
    label: str,
    shaded: bool = True,
) -> None:
    if shaded:
        low, high = [one.low for one in estimates], [one.high for one in estimates]
        axes.fill_between(places, low, high, color=COLOURS[colour], alpha=0.18, lw=0)
    means = [one.mean for one in estimates]
    axes.plot(places, means, "o-", color=COLOURS[colour], markersize=4.5, label=label)


def _lengths_axis(axes: Axes, lengths: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, labels=[str(length) for length in lengths])
    axes.minorticks_off()
    axes.set_xlabel("length in tokens")


def _shades(count: int) -> np.ndarray:
    from matplotlib import colormaps

    return np.asarray(colormaps["viridis"](np.linspace(0, 0.88, max(count, 2))))[:count]
