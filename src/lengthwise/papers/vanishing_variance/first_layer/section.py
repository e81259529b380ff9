"""The section on the first layer of a trained model."""

from typing import get_args

from lengthwise.claims import Drawing, Experiment, Results, Section, Table
from lengthwise.papers.vanishing_variance.first_layer.plan import (
    LAYER,
    MODEL,
    SIZES,
    TITLES,
    Condition,
    Positions,
)
from lengthwise.papers.vanishing_variance.first_layer.readings import all_curves, curve, measured
from lengthwise.probing.figures import draw_guide
from lengthwise.probing.inputs import Input, Query
from lengthwise.report.style import COLOURS, Figure, house_style, new_panels

LINES = {"fixed": ("blue", "o"), "random": ("orange", "s"), "natural": ("green", "^")}


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    name, tables = results.model or MODEL, measured(results)
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
            Drawing(
                "figure-1",
                draw,
                f"Standard deviation over {size.sequences} sequences of the attention output of "
                f"layer {LAYER} of {name}, before the output projection: root mean square over all "
                "heads and components, with 95 % bands from a bootstrap over sequences. Thin: "
                "other query tokens. Dotted: component 0 of head 0 alone, as the paper's figure "
                "has one component.",
                "Standard deviation against input length for three inputs and three queries",
            ).picture(results)
        ],
        tables=[
            Table.of_frame("figure-1", "What the figure shows, by length.", all_curves(tables))
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


@house_style()
def draw(results: Results) -> Figure:
    """A panel per input and setting of the positions, a line per query."""
    name, tables = results.model or MODEL, measured(results)
    figure, grid = new_panels(10.8, 5.8, 2, 3, sharex=True, sharey=True)
    for row, positions in enumerate(get_args(Positions)):
        for axes, chosen in zip(grid[row], get_args(Input), strict=True):
            for query in get_args(Query):
                colour, marker = COLOURS[LINES[query][0]], LINES[query][1]
                own, *others = map(curve, tables[Condition(positions, chosen, query)])
                lengths = own["length"].to_list()
                axes.plot(
                    lengths, own["std"], color=colour, marker=marker, markersize=4.5,
                    label=f"{query} query",
                )  # fmt: skip
                axes.fill_between(lengths, own["low"], own["high"], color=colour, alpha=0.18, lw=0)
                axes.plot(lengths, own["std_component"], ":", color=colour, lw=1.2)
                for other in others:
                    axes.plot(lengths, other["std"], color=colour, lw=0.8, alpha=0.6)
            start = curve(tables[Condition(positions, chosen, "fixed")][0])["std"][0]
            draw_guide(axes, lengths, -0.5, start, "grey")
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            shown = lengths[:: 2 if len(lengths) > 6 else 1]
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


FIRST_LAYER = Experiment("first-layer-deviation", lambda scale: {}, section, large=True)
