"""The comparison as one picture: reach of every remedy, and on every task."""

from typing import Any

import numpy as np

from lengthwise.report.style import COLOURS, Figure, house_style, new_panels

MARKS = {"helps": " ▲", "harms": " ▼"}
"""What is sure, as the page marks it."""


@house_style()
def matrix_figure(values: dict[str, Any]) -> Figure:
    """Remedies by their reach: its interval on the left, reach by task on the right.

    Args:
        values: What `payload` made.
    """
    from matplotlib.colors import LogNorm

    order = sorted(values["remedies"], key=lambda one: -((one["reach"] or {}).get("mean") or 0))
    tasks = [task for task in values["tasks"] if task["learned"]]
    cells = {(cell["remedy"], cell["task"]): cell for cell in values["cells"]}
    height = 1.3 + 0.34 * len(order)
    figure, (left, right) = new_panels(
        10, height, 1, 2, sharey=True, width_ratios=[1.1, max(1.0, 0.42 * len(tasks))]
    )
    base = next(one for one in order if one["baseline"])
    for place, one in enumerate(order):
        colour = COLOURS["grey"] if one["baseline"] else COLOURS["blue"]
        if one["reach"]:
            mean, low, high = (one["reach"][name] for name in ("mean", "low", "high"))
            ends = [mean if low is None else max(low, 0.5), mean if high is None else high]
            left.plot(ends, [place, place], color=colour, solid_capstyle="round")
            left.plot([mean], [place], "o", color=colour)
    if base["reach"]:
        left.axvline(base["reach"]["mean"], color=COLOURS["grey"], linewidth=1, linestyle=":")
    left.set_xscale("log", base=2)
    left.set_xlim(0.9, 9)
    left.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    left.set_xlabel("reach")
    left.set_yticks(range(len(order)), [_label(one) for one in order])
    left.grid(axis="y", visible=False)
    table = np.array([[_reach(cells[one["name"], t["name"]]) for t in tasks] for one in order])
    own = table[order.index(base)] if len(tasks) else table
    ratio = np.ma.masked_invalid(table / own) if len(tasks) else np.ma.array(table)
    if tasks:
        right.imshow(ratio, aspect="auto", cmap="RdBu", norm=LogNorm(1 / 8, 8), alpha=0.75)
    else:  # the drawing would have put the first one on top
        right.invert_yaxis()
    for row, one in enumerate(order):
        for column, task in enumerate(tasks):
            cell = cells[one["name"], task["name"]]
            right.text(column, row, _text(cell), ha="center", va="center", fontsize=8.5)
    right.set_xticks(range(len(tasks)), [task["name"] for task in tasks], rotation=25, ha="right")
    right.grid(visible=False)
    right.tick_params(left=False, labelleft=False)
    right.set_title("by task (▲ ▼ for sure; - did not learn)", fontsize=10)
    return figure


def _label(one: dict[str, Any]) -> str:
    return f"{one['name']} (baseline)" if one["baseline"] else str(one["name"])


def _reach(cell: dict[str, Any]) -> float:
    if cell["verdict"] in ("not done", "not learned") or not cell["reach"]:
        return float("nan")
    return float(cell["reach"]["mean"])


def _text(cell: dict[str, Any]) -> str:
    if cell["verdict"] == "not learned":
        return "-"
    if cell["verdict"] == "not done" or not cell["reach"]:
        return ""
    return f"{cell['reach']['mean']:.1f}{MARKS.get(cell['verdict'], '')}"
