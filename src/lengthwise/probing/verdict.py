"""What the slopes of a probe say, in words."""

from typing import TYPE_CHECKING

import polars

from lengthwise.probing.summary import HEADS
from lengthwise.report.numbers import number

if TYPE_CHECKING:
    from lengthwise.probing.table import ProbeTable

THEORY = -0.5
NEAR = 0.1
"""How far from a slope of -1/2, or from 0, still counts as there. Ours."""


def verdict(table: "ProbeTable") -> str:
    """A few sentences: the spread of the output, the attended tokens, and the first token."""
    lengths = list(table.summaries)
    if len(lengths) < 2:
        return f"{table.label}: one length only; slopes need at least two."
    slopes = table.slopes().filter(polars.col("place") == HEADS)
    std = slopes.filter(polars.col("measure") == "std")
    lines = [
        f"{table.label}: {table.sequences} sequences at each of {len(lengths)} lengths, "
        f"{lengths[0]} to {lengths[-1]}.",
        _spread(std),
    ]
    if std["layer"].n_unique() > 1:
        first = std.filter(polars.col("layer") == polars.col("layer").min())
        lines.append(f"In layer {first['layer'][0]} alone: {_spread(first)}")
    return "\n".join((*lines, _attended(table, slopes), *table.notes))


def _spread(std: polars.DataFrame) -> str:
    """Sort the heads by their slopes: falling if the whole interval says so."""
    count = len(std)
    if std["slope"].is_nan().all():
        return "The output does not vary between sequences at all."
    falling = std.filter(polars.col("high") < -NEAR)
    theory = std.filter((polars.col("slope") - THEORY).abs() <= NEAR)
    flat = std.filter((polars.col("low") > -NEAR) & (polars.col("high") < NEAR))
    rising = std.filter(polars.col("low") > NEAR)
    median = std["slope"].median()
    assert isinstance(median, float)
    return (
        f"The standard deviation of the attention output goes like N^{median:.2f} in the median "
        f"head. It falls in {len(falling)} of {count} heads (in {len(theory)} about like N^-1/2, "
        f"as independent tokens would give), is flat in {len(flat)}, rises in {len(rising)}, and "
        f"is undecided in {count - len(falling) - len(flat) - len(rising)}."
    )


def _attended(table: "ProbeTable", slopes: polars.DataFrame) -> str:
    effective = slopes.filter(polars.col("measure") == "effective_tokens")["slope"].median()
    assert isinstance(effective, float)
    longest = table.frame.filter(
        polars.col("length") == polars.col("length").max(), polars.col("place") == HEADS
    )

    def median(measure: str) -> float:
        value = longest.filter(polars.col("measure") == measure)["value"].median()
        assert isinstance(value, float)
        return value

    length = longest["length"][0]
    return (
        f"The median head attends to {number(median('effective_tokens'))} tokens effectively at "
        f"N = {length}, a number that grows like N^{effective:.2f}; its largest weight there is "
        f"{number(median('largest_weight'))}, and {number(median('first_mass'))} of its weight "
        "lies on the first token."
    )
