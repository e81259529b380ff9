"""Several models side by side: break lengths, and their curves in one figure."""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.checking.page import breaks_table, document
from lengthwise.claims.statistics import estimate
from lengthwise.files import write_text
from lengthwise.report.style import Figure, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from lengthwise.checking.result import Check


def save_comparison(checks: "Mapping[str, Check]", folder: Path, command: str) -> Path:
    """Write a page and its figure into a folder, and give the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        svg = as_svg(draw(checks))
    write_text(folder / "comparison.svg", svg)
    verdicts = "".join(
        f"<h2>{html.escape(name)}</h2>"
        + "".join(f"<p>{html.escape(line)}</p>" for line in check.verdict().splitlines())
        for name, check in checks.items()
    )
    caption = (
        "Above: loss on the same tokens minus that at the shortest length (95 %, paired over "
        "documents). Below: copying minus what is guessed. Tokens differ between tokenizers, so "
        "only changes are compared."
    )
    figure = f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
    path = folder / "comparison.html"
    text = document(
        f"Side by side: {', '.join(checks)}",
        breaks_table(dict(checks)), figure, verdicts, f"<pre>{html.escape(command)}</pre>",
    )  # fmt: skip
    write_text(path, text)
    return path


def draw(checks: "Mapping[str, Check]") -> Figure:
    """Loss above, copying below, a line per model."""
    from matplotlib import colormaps

    figure = new_figure(7.6, 5.2)
    above, below = figure.subplots(2, 1, sharex=True)
    colours = colormaps["viridis"]
    for number, (name, check) in enumerate(checks.items()):
        colour = colours(0.85 * number / max(len(checks) - 1, 1))
        lengths = check.lengths
        changes = [check.loss_change(length, lengths[0]) for length in lengths]
        gains = [estimate(one.copy_gain.tolist()) for one in check.behaviours.values()]
        for axes, found in ((above, changes), (below, gains)):
            low, high = [one.low for one in found], [one.high for one in found]
            axes.fill_between(lengths, low, high, color=colour, alpha=0.15, lw=0)
            axes.plot(lengths, [one.mean for one in found], "o-", color=colour, label=name)
    shown = sorted({length for check in checks.values() for length in check.lengths})
    below.set_xscale("log", base=2)
    below.set_xticks(shown, labels=[str(length) for length in shown])
    below.minorticks_off()
    below.set_xlabel("length in tokens")
    above.axhline(0, color="#333333", lw=0.8)
    above.set_ylabel("loss minus loss at\nthe shortest (nats)")
    below.set_ylim(-0.05, 1.05)  # or noise about 0 would fill the panel
    below.set_ylabel("copying, minus\nwhat is guessed")
    above.legend(fontsize=8)
    return figure
