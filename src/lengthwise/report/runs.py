"""One run's measures, as a table for the terminal and as a figure."""

from typing import TYPE_CHECKING

import polars
from rich.table import Table

from lengthwise.errors import require_name
from lengthwise.report.lengths import Curve, figure_by_length
from lengthwise.report.numbers import number
from lengthwise.report.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chosen_measure(table: polars.DataFrame, name: str | None) -> str:
    """The measure of that name; without one the first of the table, which says most."""
    known = table["measure"].unique(maintain_order=True)
    if name is None:
        return str(known[0])
    require_name(name, known, "measure")
    return name


def by_weights(table: polars.DataFrame, measure: str) -> dict[str, polars.DataFrame]:
    """One measure of the models that did not diverge, by the weights it was measured with.

    The label of an average holds its powers, unless they differ from model to model.
    """
    chosen = table.filter(polars.col("measure") == measure, polars.col("diverged").is_null())
    found: dict[str, polars.DataFrame] = {}
    for (kind, ema_power, bias_power), group in chosen.group_by(
        "weights", "ema_power", "bias_power", maintain_order=True
    ):
        powers = [f"{power:g}" for power in (ema_power, bias_power) if power is not None]
        label = " ".join([{"raw": "raw"}.get(str(kind), str(kind).upper()), *powers])
        found[label] = group
    return found


def summary_table(table: polars.DataFrame, measure: str, train_length: int) -> Table:
    """Mean over models by length and weights; a rule stands below the training lengths."""
    columns = by_weights(table, measure)
    title = f"{measure}, mean over models"
    summary = Table(title=title, title_justify="left", min_width=len(title))
    summary.add_column("length", justify="right")
    for label in columns:
        summary.add_column(label, justify="right")
    means = {
        label: dict(group.group_by("length").agg(polars.col("value").mean()).iter_rows())
        for label, group in columns.items()
    }
    lengths = sorted(table["length"].unique())
    longest_trained = max((length for length in lengths if length <= train_length), default=None)
    for length in lengths:
        cells = [number(means[label].get(length, float("nan"))) for label in columns]
        summary.add_row(str(length), *cells, end_section=length == longest_trained)
    diverged = table.filter(polars.col("diverged").is_not_null())["model"].n_unique()
    summary.caption = f"trained on lengths up to {train_length}"
    if diverged:
        summary.caption += f"; {diverged} diverged models left out"
    return summary


def plot_run(table: polars.DataFrame, measure: str, train_length: int) -> "Figure":
    """Curves against the length: the raw weights and the first EMA and BEMA."""
    available = by_weights(table, measure)
    first = {label.split()[0]: label for label in reversed(available)}
    styles = {"raw": ("orange", "o"), "EMA": ("green", "^"), "BEMA": ("blue", "s")}
    curves = {
        first[kind]: Curve(available[first[kind]], COLOURS[colour], marker=marker)
        for kind, (colour, marker) in styles.items()
        if kind in first
    }
    lengths = sorted(table["length"].unique())
    return figure_by_length(curves, train_length, lengths, measure, f"{measure} by input length")
