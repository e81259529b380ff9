"""One run's measures, as a table for the terminal and as a figure."""

import math
from collections.abc import Sequence

import polars
from rich.table import Table

from lengthwise.claims.readings import alive, diverged, weights_in_words
from lengthwise.errors import require_name
from lengthwise.measures import Baseline
from lengthwise.measures.baselines import baseline_of
from lengthwise.report.lengths import Curve, figure_by_length
from lengthwise.report.numbers import number
from lengthwise.report.style import COLOURS, Figure
from lengthwise.runs import Recipe

FEW_COLUMNS = 5
"""So many weights and baselines fit side by side on a screen of 80 characters, with powers."""

MOST_COLUMNS = 7
"""So many lengths fit."""


def chosen_measure(table: polars.DataFrame, name: str | None) -> str:
    """The measure of that name; without one the first of the table, which says most."""
    known = table["measure"].unique(maintain_order=True)
    if name is None:
        return str(known[0])
    require_name(name, known, "measure")
    return name


def by_weights(table: polars.DataFrame, measure: str) -> dict[str, polars.DataFrame]:
    """One measure of the models that did not diverge, by the weights it was measured with."""
    named = alive(table, measure).with_columns(kind=weights_in_words())
    return {str(kind): group for (kind,), group in named.group_by("kind", maintain_order=True)}


def run_baseline(recipe: Recipe, table: polars.DataFrame, measure: str) -> list[Baseline]:
    """What a measure comes to without reading the input, at every length; empty if unknown."""
    lengths = sorted(table["length"].unique())
    return baseline_of(recipe.task.held_out(), measure, lengths, recipe.test_seed)


def summary_table(
    table: polars.DataFrame, measure: str, max_train_length: int, baseline: Sequence[Baseline] = ()
) -> Table:
    """Mean over models by length and weights, beside what can be had without reading the input.

    A row per length, with a rule below those of training; where there are more averages than
    columns fit on a screen, a row per weights and some of the lengths.
    """
    means = {
        label: dict(group.group_by("length").agg(polars.col("value").mean()).iter_rows())
        for label, group in by_weights(table, measure).items()
    }
    for label in ("chance", "length only") if baseline else ():
        field = label.replace(" ", "_")
        means[label] = {one.length: getattr(one, field) for one in baseline}
    lengths = sorted(table["length"].unique())
    title = f"{measure}, mean over models"
    summary = Table(title=title, title_justify="left", min_width=len(title))
    if len(means) <= FEW_COLUMNS:
        _rows_of_lengths(summary, means, lengths, max_train_length)
    else:
        _rows_of_weights(summary, means, lengths, max_train_length)
    summary.caption = f"trained on lengths up to {max_train_length}"
    if lost := diverged(table):
        summary.caption += f"; {lost} diverged models left out"
    return summary


Means = dict[str, dict[int, float]]
"""By weights, then by length."""


def _rows_of_lengths(
    summary: Table, means: Means, lengths: list[int], max_train_length: int
) -> None:
    for column in ("length", *means):
        summary.add_column(column, justify="right")
    longest_trained = max(
        (length for length in lengths if length <= max_train_length), default=None
    )
    for length in lengths:
        cells = [number(own.get(length, math.nan)) for own in means.values()]
        summary.add_row(str(length), *cells, end_section=length == longest_trained)


def _rows_of_weights(
    summary: Table, means: Means, lengths: list[int], max_train_length: int
) -> None:
    parts = {
        "within": [length for length in lengths if length <= max_train_length],
        "beyond": [length for length in lengths if length > max_train_length],
    }
    last = MOST_COLUMNS - len(parts) - 1
    spread = {lengths[place * (len(lengths) - 1) // last] for place in range(last + 1)}
    parts |= {str(length): [length] for length in sorted(spread)}
    summary.add_column("weights")
    for part, held in parts.items():
        summary.add_column(part if held else f"{part} (none)", justify="right")
    kinds = [label.split()[0] for label in means]
    for place, (label, own) in enumerate(means.items()):
        cells = [
            _mean([own[length] for length in held if length in own]) for held in parts.values()
        ]
        # An EMA and the BEMAs that are made of it stand together.
        ends_group = place + 1 < len(kinds) and kinds[place + 1] in ("EMA", "chance")
        summary.add_row(label, *cells, end_section=ends_group)


def _mean(values: list[float]) -> str:
    return number(sum(values) / len(values)) if values else "-"


def plot_run(
    table: polars.DataFrame, measure: str, max_train_length: int, baseline: Sequence[Baseline] = ()
) -> Figure:
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
    return figure_by_length(
        curves, max_train_length, lengths, measure, f"{measure} by input length", baseline
    )
