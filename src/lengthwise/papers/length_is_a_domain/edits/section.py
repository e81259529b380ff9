"""What the report says about string edits in a band of lengths."""

from collections.abc import Callable

import polars

from lengthwise.claims import Drawing, Experiment, Results, Section, Table
from lengthwise.claims import arms as read
from lengthwise.papers.length_is_a_domain import ARXIV
from lengthwise.papers.length_is_a_domain.edits import plan as runs
from lengthwise.papers.length_is_a_domain.edits.readings import INPUTS, of
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import Figure, new_panels

KINDS = {runs.MEASURE: "right answers", "length_ratio": "length written / length wanted"}


def section(joined: bool) -> Callable[[Results], Section]:
    """An experiment's part of a report."""

    def write(results: Results) -> Section:
        label, size = next(iter(results.plan)), runs.SIZES[results.scale]
        recipe = results.recipe
        operations = ", ".join(runs.task_of(label).operations)
        first, last = runs.TRAINED
        others = (
            f" Others are trained on such strings and on two of them joined, up to {runs.FAR[1]} "
            f"letters, or on single strings of up to {runs.FAR[1]}; all are asked for single edits."
        )
        steps = f"{recipe.steps} steps of {recipe.batch} examples in the band"
        if joined:
            steps += f", {size.long_steps} of joined and long ones"
        notes = [
            f"A miniature: {ARXIV} edits strings of 11 to 15 letters, and joins sentences of "
            "translation, not edits. `--scale paper` trains models of the size of its translation "
            "models (6 + 6 layers, width 512); steps are ours, and so is that examples are drawn "
            "anew, where the paper has 28,000.",
            f"Ours at scale '{results.scale}': {size.encoder_layers} + {size.layers} layers, "
            f"{size.heads} heads, width {size.width}, norms after adding (post-LN), {steps}, Adam "
            f"at {runs.RATES[results.scale]:g}, {size.seeds} paired seeds, {recipe.test_inputs} "
            "test strings per length, which training cannot have shown.",
            f"Lengths of what is written come from greedy decoding of {INPUTS} prompts per length; "
            "right answers under teacher forcing are those of greedy decoding.",
            f"A model counts only if at least {runs.LEAST} of its answers are right on the lengths "
            "it is trained on. A bucket is the mean over its measured lengths.",
            "Chosen on a pilot seed (100) by what was learned inside the band: norms after adding "
            "(norms before it learned far slower), the rate and the steps.",
        ]
        if joined:
            notes.append(
                "Changed after a look at pilot seed 100: trained on pairs of 22 to 30 letters "
                "alone, as the paper trains on joined sentences alone, a model got no single edit "
                "right, because two operations always came; so single edits of the band are "
                "trained with the pairs. Reverse was left out, which was not learned at 22 to 30."
            )
        return Section(
            title="Short edits, joined" if joined else "String edits in a band of lengths",
            introduction=(
                "A small encoder-decoder with sinusoidal positions reads an operation, a letter "
                f"and a string of a and b, and writes the edited string ({operations}). It is "
                f"trained on strings of {first} to {last} letters." + (others if joined else "")
            ),
            pictures=[_drawing(joined).picture(results)],
            notes=notes,
            tables=[_table(results, measure, joined) for measure in KINDS],
        )

    return write


def _table(results: Results, measure: str, joined: bool) -> Table:
    percent = measure == runs.MEASURE
    lengths = runs.SIZES[results.scale].lengths
    rows = [
        [
            str(length),
            *(
                read.mean_and_deviation(
                    of(results, label, measure).filter(polars.col("length") == length)["value"],
                    percent,
                )
                for label in results.plan
            ),
        ]
        for length in lengths
    ]
    return Table(
        ("right" if percent else "written") + ("-joined" if joined else ""),
        f"{KINDS[measure].capitalize()}{', in %' if percent else ''}, by letters of the string, "
        "from greedy decoding: mean and standard deviation over seeds.",
        ["letters", *(runs.LINES[label].title for label in results.plan)],
        rows,
    )


def _draw(results: Results) -> Figure:
    """Left the share of right answers, right how long answers are."""
    figure, panels = new_panels(11, 4.4, 1, 2)
    lengths = runs.SIZES[results.scale].lengths
    for axes, (measure, title) in zip(panels, KINDS.items(), strict=True):
        curves = {
            runs.LINES[label].title: Curve(of(results, label, measure), *runs.LINES[label][1:])
            for label in results.plan
        }
        draw_by_length(axes, curves, runs.TRAINED, lengths, title)
        axes.set_xlabel("letters")
    panels[0].set_ylim(-0.03, 1.05)
    panels[1].axhline(1.0, color="#6b6b6b", lw=1, ls=":", zorder=2)
    panels[1].set_yscale("log")
    ticks = (0.25, 0.5, 1, 2, 4, 8)
    panels[1].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[1].minorticks_off()
    panels[1].set_ylim(0.35, 10)
    if len(results.plan) > 1:
        panels[1].legend(loc="upper right")
    return figure


def _drawing(joined: bool) -> Drawing:
    return Drawing(
        "joined" if joined else "edits",
        _draw,
        "By letters of the string, mean over seeds with 95 % bands; grey is the band. Left: right "
        "answers. Right: how long answers are as a part of how long they should be; 1 is right.",
        "Right answers and lengths of answers by letters of the string",
    )


EDITS = Experiment(
    "length-is-a-domain-edits", lambda scale: runs.plan(scale, runs.BAND), section(joined=False)
)
JOINED_EDITS = Experiment(
    "length-is-a-domain-joined",
    lambda scale: runs.plan(scale, runs.SHORT, runs.JOINED, runs.LONG),
    section(joined=True),
)
