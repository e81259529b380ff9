"""Claims: does a norm after attention, or post-LN, lift what fails beyond the training length?"""

from collections.abc import Sequence

from lengthwise.claims import (
    Claim,
    Experiment,
    Finding,
    PlannedRun,
    Results,
    Scale,
    Section,
    drawing,
    estimate,
)
from lengthwise.claims.readings import alive
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import Cell, Cells
from lengthwise.papers.c_rasp.tasks import plan as runs
from lengthwise.papers.c_rasp.tasks.section import notes
from lengthwise.papers.whats_missing import V2
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_panels

FAILING = (("repeat-copy", "offset"), ("unique-copy", "none"), ("parity", "offset"))
"""Cells that fail in the paper although they are learned in range, and are not too slow here."""

VARIANTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "": ("baseline", (), "pre"),
    "-norm": ("LayerNorm after attention", ("layernorm",), "pre"),
    "-post": ("post-LN", (), "post"),
}
"""By the end of a run's label: words, remedies, layout."""

STYLES = {
    "": (COLOURS["orange"], "-", "o"),
    "-norm": (COLOURS["blue"], "-", "s"),
    "-post": (COLOURS["green"], "--", "^"),
}

SMALLEST_LIFT = 0.05
"""A lift by less than five points of exact match would not matter. Ours."""

CELLS = Cells(
    {
        f"{name}-{positions}{variant}": Cell(runs.ROWS[name].title, positions, None)
        for name, positions in FAILING
        for variant in VARIANTS
    },
    "exact_match",
)


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every failing cell as it is, with the norm, and with the other layout; paired by seed."""
    return {
        f"{name}-{positions}{end}": runs.planned(scale, name, positions, remedies, layout)
        for name, positions in FAILING
        for end, (_, remedies, layout) in VARIANTS.items()
    }


def lifts(results: Results, name: str, positions: str, variant: str) -> dict[int, float]:
    """What a variant gains at one to two times the training length, where both learned."""
    label = f"{name}-{positions}"
    plain, changed = (CELLS.of_learned(results, f"{label}{end}", 1) for end in ("", variant))
    return {seed: changed[seed] - plain[seed] for seed in sorted(plain.keys() & changed.keys())}


def evidence(results: Results, variant: str) -> list[Finding]:
    """The gain over all failing cells decides, each on its own is shown."""
    words = VARIANTS[variant][0]
    every = {cell: lifts(results, *cell, variant) for cell in FAILING}
    seeds = sorted({seed for own in every.values() for seed in own})
    means = [_mean([own[seed] for own in every.values() if seed in own]) for seed in seeds]
    effect = f"exact match at 1 to 2 times the training length, {words} - baseline"
    return [
        Finding(f"{effect}, mean over failing cells", estimate(means), SMALLEST_LIFT),
        *(
            Finding(
                f"{effect}: {runs.ROWS[name].title}, positions: {positions}",
                estimate(list(own.values())),
                SMALLEST_LIFT,
                decides=False,
            )
            for (name, positions), own in every.items()
        ),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    return Section(
        title="Does a norm lift what fails?",
        introduction=(
            "Three cells of the table that fail beyond the training length, trained again with "
            "LayerNorm after attention and with post-LN layers, and nothing else changed."
        ),
        pictures=[figure_norms.picture(results)],
        notes=[
            *notes(results),
            "The learning rate of each cell was chosen for the baseline, on other seeds, and is "
            "the same for the norms.",
        ],
    )


@drawing(
    "norms",
    "Exact match against the length of the string with pre-LN layers, with LayerNorm after "
    "attention, and with post-LN layers; mean over seeds with 95 % bands.",
    "Exact match by length of three failing cells with and without norms",
)
def figure_norms(results: Results) -> Figure:
    """A panel per failing cell, a line per variant."""
    figure, panels = new_panels(11.0, 3.9, 1, len(FAILING), sharey=True)
    for axes, (name, positions) in zip(panels, FAILING, strict=True):
        label = f"{name}-{positions}"
        recipe = results.plan[label].recipe
        curves = {
            VARIANTS[end][0]: Curve(
                alive(results.tables[f"{label}{end}"], "exact_match").select(
                    "seed", "length", "value"
                ),
                *style,
            )
            for end, style in STYLES.items()
        }
        draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "")
        start = "random start" if positions == "offset" else "no positions"
        axes.set_title(f"{runs.ROWS[name].title.capitalize()}, {start}", pad=20)
        axes.set_xlabel("symbols")
    panels[0].set_ylim(-0.02, 1.04)
    panels[0].set_ylabel("exact match")
    panels[-1].legend(loc="upper right")
    return figure


NORMS = Experiment("c-rasp-norms", plan, section, shared_runs=runs.SHARED_RUNS)


def _claim(variant: str, name: str, what: str, place: int) -> Claim:
    return Claim(
        name=f"c-rasp/{name}",
        sentence=f"{what} lift the tasks that fail beyond the training length.",
        source=f"Ours: a question that {V2} raises on the tasks of {ARXIV}",
        experiment=NORMS,
        evidence=lambda results: evidence(results, variant),
        place=place,
    )


NORM_LIFTS = _claim("-norm", "norm-lifts", "Layers with LayerNorm after attention", 60)
POST_LN_LIFTS = _claim("-post", "post-ln-lifts", "Post-LN layers", 61)
