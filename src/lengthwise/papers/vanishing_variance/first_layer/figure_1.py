"""Claim: figure 1, the standard deviation of the first layer's attention output falls with N.

The paper shows one component in Llama-3.2-1B and does not say which token asks. Here every kind of
input meets every kind of query, with rotary positions on and off, and all components count.
"""

import itertools
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import polars
import torch
from torch import Tensor

from lengthwise.claims import (
    Claim,
    Estimate,
    Experiment,
    Finding,
    Picture,
    Results,
    Scale,
    Section,
    estimate,
)
from lengthwise.files import write_with
from lengthwise.probing import ProbeTable, probe
from lengthwise.probing.figures import draw_guide
from lengthwise.probing.inputs import Input, Query, read_text
from lengthwise.probing.models import load
from lengthwise.probing.summary import HEADS, Summary
from lengthwise.probing.table import INTERVAL, fit_slopes
from lengthwise.report.style import COLOURS, as_svg, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODEL = "smollm2"
TEXT = "shakespeare"
LAYER = 0


class Size(NamedTuple):
    """How much is measured. Ours."""

    longest: int
    """Lengths double from 16 up to this one."""
    sequences: int
    """Of each length."""
    tokens: int
    """How many query tokens the claim is tested on, each with sequences of its own."""


SIZES: dict[Scale, Size] = {
    "quick": Size(512, 32, 3),
    "laptop": Size(2048, 64, 5),
    "paper": Size(8192, 256, 10),
}

SMALLEST_FALL = 0.1
"""A slope of -0.1 halves the deviation over ten doublings of N; less would hardly matter. Ours."""

LINES = {"fixed": ("blue", "o"), "random": ("orange", "s"), "natural": ("green", "^")}
TITLES = {"random": "random tokens", "unigram": "unigrams", "text": "Shakespeare"}


Positions = Literal["on", "off"]


class Condition(NamedTuple):
    """What is put into the model, and whether it is altered."""

    positions: Positions
    input: Input
    query: Query

    def __str__(self) -> str:
        """In words."""
        rotary = "RoPE on" if self.positions == "on" else "RoPE off (altered model)"
        return f"{TITLES[self.input]}, {self.query} query, {rotary}"


CONDITIONS = [
    Condition(*parts)
    for parts in itertools.product(get_args(Positions), get_args(Input), get_args(Query))
]


Tables = dict[Condition, list[ProbeTable]]
"""A table per seed; where the claim is tested, another seed is another query token."""


@cache
def measured(model_name: str, scale: Scale, folder: Path) -> Tables:
    """Probe the first layer under every condition; lengths that the folder keeps are not redone."""
    size = SIZES[scale]
    lengths = [2**power for power in range(4, size.longest.bit_length())]
    model, tokenizer = load(model_name)
    text = read_text(TEXT, tokenizer)
    tables: Tables = {condition: [] for condition in CONDITIONS}
    for number, condition in enumerate(CONDITIONS, start=1):
        print(f"probing {model_name}, {number} of {len(CONDITIONS)}: {condition}", file=sys.stderr)
        for seed in range(size.tokens if decisive(condition) else 1):
            table = probe(
                model, tokenizer, lengths=lengths, input=condition.input, text=text,
                query=condition.query, positions=condition.positions, layers=[LAYER],
                sequences=size.sequences, seed=seed, name=model_name,
                out=folder / Path(model_name).name / "-".join((*condition, str(seed))),
            )  # fmt: skip
            tables[condition].append(table)
    return tables


def decisive(condition: Condition) -> bool:
    """Proposition 1 speaks of a fixed query: if the query varies, so does what it asks for."""
    return condition.query == "fixed" and condition.positions == "on"


def tables_of(results: Results) -> Tables:
    """What was measured for these results."""
    return measured(results.model or MODEL, results.scale, results.folder)


def deviation(summary: Summary) -> Tensor:
    """The root mean square over all heads and components: `(1 + resamples, 1)`."""
    return summary.estimates[LAYER, HEADS, "std"].square().mean(-1, keepdim=True).sqrt()


def fall(table: ProbeTable) -> Estimate:
    """How fast the deviation falls: minus its slope on log-log axes."""
    values = torch.stack([deviation(summary) for summary in table.summaries.values()])
    slope, low, high = (float(value[0]) for value in fit_slopes(list(table.summaries), values))
    return Estimate(-slope, -high, -low, table.sequences)


def evidence(results: Results) -> Sequence[Finding]:
    """The claim rests on the unaltered model with a fixed query; the rest is shown beside it."""
    tables = tables_of(results)
    save(results, tables)
    rate = "rate k at which the deviation falls, as 1/N^k"
    tested = [
        Finding(
            f"{rate}: {condition}, over {len(tables[condition])} query tokens",
            estimate([fall(table).mean for table in tables[condition]]),
            SMALLEST_FALL,
        )
        for condition in CONDITIONS
        if decisive(condition)
    ]
    beside = [
        Finding(
            f"{rate}: {condition}, bootstrap over {tables[condition][0].sequences} sequences",
            fall(tables[condition][0]),
            SMALLEST_FALL,
            decides=False,
        )
        for condition in CONDITIONS
        if not decisive(condition)
    ]
    return [*tested, *beside]


def save(results: Results, tables: Tables) -> None:
    """Write what the figure shows as a table beside the runs."""
    rows = [
        condition._asdict() | {"seed": seed} | row
        for condition, by_seed in tables.items()
        for seed, table in enumerate(by_seed)
        for row in _rows(table)
    ]
    path = results.folder / Path(results.model or MODEL).name / "figure-1.csv"
    write_with(path, polars.DataFrame(rows).write_csv)


def _rows(table: ProbeTable) -> Iterator[dict[str, float]]:
    rate = fall(table)
    for length, summary in table.summaries.items():
        std = deviation(summary)[:, 0]
        low, high = std[1:].quantile(torch.tensor(INTERVAL)).tolist()
        yield {
            "length": length, "std": std[0].item(), "low": low, "high": high,
            "std_component": summary.estimates[LAYER, HEADS, "std_component"][0, 0].item(),
            "slope": -rate.mean, "slope_low": -rate.high, "slope_high": -rate.low,
            "sequences": table.sequences,
        }  # fmt: skip


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    name, tables = results.model or MODEL, tables_of(results)
    size = SIZES[results.scale]
    notes = {note for by_seed in tables.values() for table in by_seed for note in table.notes}
    return Section(
        title=f"The first layer of {name}",
        introduction=(
            "Attention takes a weighted mean of its values. Over more and more tokens, means of "
            "different sequences become alike: the output's standard deviation over sequences "
            "falls, as 1/sqrt(N) if the tokens are independent and the query is fixed."
        ),
        pictures=[
            Picture(
                as_svg(draw(name, tables)),
                f"Standard deviation over {size.sequences} sequences of the attention output of "
                f"layer {LAYER} of {name}, before the output projection: root mean square over all "
                "heads and components, with 95 % bands from a bootstrap over sequences. Thin: "
                "other query tokens. Dotted: component 0 of head 0 alone, as the paper's figure "
                "has one component.",
                "Standard deviation against input length for three inputs and three queries",
            )
        ],
        notes=[
            "The figure and its axes are the paper's; which token asks, the other inputs, the "
            "model where it is not Llama-3.2-1B, lengths, numbers of sequences and the smallest "
            "rate that matters are ours.",
            f"Lengths 16 to {size.longest} by doubling, {size.sequences} sequences of each. Seeds "
            f"0 to {size.tokens - 1} draw the query tokens that the claim is tested on, and the "
            "sequences that go with them; its intervals are over these tokens. All else has seed "
            "0, and bootstrap intervals over sequences.",
            "A fixed query is the same token at the end of every sequence; a random one is drawn "
            "uniformly; a natural one is what stands there. With random tokens the last two are "
            "the same thing.",
            "The claim rests on the unaltered model with a fixed query. With RoPE off the model "
            "is altered, and shown only to compare with the theory.",
            *sorted(notes),
        ],
    )


def draw(name: str, tables: Tables) -> "Figure":
    """A panel per input and setting of the positions, a line per query."""
    with house_style():
        figure = new_figure(10.8, 5.8)
        grid = figure.subplots(2, 3, sharex=True, sharey=True)
        for row, positions in enumerate(get_args(Positions)):
            for axes, chosen in zip(grid[row], get_args(Input), strict=True):
                for query in get_args(Query):
                    colour, marker = LINES[query]
                    table, *others = tables[Condition(positions, chosen, query)]
                    _draw_line(axes, table, f"{query} query", COLOURS[colour], marker)
                    for other in others:
                        axes.plot(*_curve(other), color=COLOURS[colour], lw=0.8, alpha=0.6)
                first = tables[Condition(positions, chosen, "fixed")][0].summaries
                start = float(deviation(next(iter(first.values())))[0])
                draw_guide(axes, list(first), -0.5, start, "grey")
                axes.set_xscale("log", base=2)
                axes.set_yscale("log")
                shown = list(first)[:: 2 if len(first) > 6 else 1]
                axes.set_xticks(shown, labels=[str(length) for length in shown])
                axes.minorticks_off()
                altered = "" if positions == "on" else ", RoPE off (altered)"
                axes.set_title(TITLES[chosen] + altered)
        for axes in grid[1]:
            axes.set_xlabel("input length N")
        for axes in grid[:, 0]:
            axes.set_ylabel("standard deviation")
        grid[0, 0].legend(loc="lower left", fontsize=8)
        figure.suptitle(f"Layer {LAYER} of {name}", x=0.01, ha="left", fontweight="bold")
        return figure


def _draw_line(axes: "Axes", table: ProbeTable, label: str, colour: str, marker: str) -> None:
    rows = torch.stack([deviation(summary)[:, 0] for summary in table.summaries.values()])
    low, high = rows[:, 1:].quantile(torch.tensor(INTERVAL), dim=1)
    component = [s.estimates[LAYER, HEADS, "std_component"][0, 0] for s in table.summaries.values()]
    lengths, std = _curve(table)
    axes.plot(lengths, std, color=colour, marker=marker, markersize=4.5, label=label)
    axes.fill_between(lengths, low, high, color=colour, alpha=0.18, lw=0)
    axes.plot(lengths, component, ":", color=colour, lw=1.2)


def _curve(table: ProbeTable) -> tuple[list[int], list[float]]:
    return list(table.summaries), [float(deviation(s)[0]) for s in table.summaries.values()]


FIGURE_1 = Claim(
    name="vanishing-variance/figure-1",
    sentence=(
        "In a trained language model, the standard deviation over sequences of the first layer's "
        "attention output falls with the input length, for a fixed query token."
    ),
    source="arXiv 2504.02827, figure 1; the conditions are ours",
    experiment=Experiment("first-layer-deviation", lambda scale: {}, section, large=True),
    evidence=evidence,
)
