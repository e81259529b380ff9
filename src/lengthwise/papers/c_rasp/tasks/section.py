"""The section on tasks: the table with ours beside the published numbers."""

from lengthwise.claims import Experiment, Results, Section, drawing
from lengthwise.claims.readings import alive
from lengthwise.papers.c_rasp.cells import LEARNED, POSITIONS, matrix, table
from lengthwise.papers.c_rasp.tasks.plan import CELLS, ROWS, SCALES, SHARED_RUNS, plan
from lengthwise.report.lengths import Curve, draw_by_length
from lengthwise.report.style import COLOURS, Figure, new_panels

CURVES = {
    "unique-copy-offset": (COLOURS["blue"], "-", "o"),
    "unique-copy-none": (COLOURS["blue"], "--", "s"),
    "repeat-copy-offset": (COLOURS["orange"], "-", "^"),
    "parity-offset": (COLOURS["purple"], "-", "D"),
    "sort-offset": (COLOURS["green"], "-", "v"),
}


def section(results: Results) -> Section:
    """The experiment's part of a report."""
    trained = SCALES[results.scale].trained
    return Section(
        title="Which tasks carry beyond the training length",
        introduction=(
            "A string, and another one that follows from it: its majority, its parity, itself "
            f"sorted, copied or summed. GPTs learn strings of up to {trained} symbols and are "
            f"tested on up to {3 * trained}. The paper says which tasks must carry: those with a "
            "program in C-RASP, which counts; with positions, it also sees neighbours and periods."
        ),
        pictures=[one.picture(results) for one in (MATRIX, figure_curves)],
        notes=notes(results),
        tables=[
            table(
                results, CELLS, "tasks",
                "Exact match in %, mean and standard deviation over the seeds that learned, up to "
                "the training length (1x), up to twice and up to three times that, beside the "
                "published numbers (published sizes). 'program': whether C-RASP has one.",
            )
        ],
    )  # fmt: skip


MATRIX = matrix("tasks", CELLS, "Exact match")


@drawing(
    "tasks-by-length",
    "Exact match against the length of the string, mean over seeds with 95 % bands. Distinct "
    "symbols can be copied by looking each one up; repeated ones cannot.",
    "Exact match by length for copying, sorting and parity",
)
def figure_curves(results: Results) -> Figure:
    """Exact match by length of the cells that the orderings are about."""
    figure, axes = new_panels(8.2, 4.4)
    recipe = results.plan["repeat-copy-offset"].recipe
    curves = {}
    for label, style in CURVES.items():
        rows = alive(results.tables[label], "exact_match").select("seed", "length", "value")
        cell = CELLS.cells[label]
        name = f"{cell.title}, {'random start' if cell.positions == 'offset' else 'no positions'}"
        curves[name] = Curve(rows, *style)
    draw_by_length(axes, curves, recipe.max_train_length, recipe.test_lengths, "exact match")
    axes.set_ylim(-0.02, 1.04)
    axes.set_title("What carries, and what does not", pad=20)
    axes.set_xlabel("symbols")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def notes(results: Results) -> list[str]:
    """What a reader must know to judge the numbers."""
    scaled = SCALES[results.scale]
    sizes = (
        f"{row.title} {size.layers}l{size.heads}h{size.width}d {size.rate:g} {size.steps} steps"
        for name, row in ROWS.items()
        if f"{name}-offset" in results.plan
        for size in [row.paper if results.scale == "paper" else row.laptop]
    )
    return [
        "Tasks, positions, bins and the measure (all of the answer right, with its end, under "
        "teacher forcing) are the paper's. A learning rate that falls as a cosine where theirs "
        "falls linearly, one length per batch, strings of training from one symbol on, a fixed "
        "number of steps where the paper stops at a perfect match, and the gate are ours.",
        (
            "The published sizes."
            if results.scale == "paper"
            else "A miniature: lengths, widths, batch and steps are ours; `--scale paper` runs the "
            "published ones (a GPU)."
        )
        + f" Strings of up to {scaled.trained} symbols in training, batch {scaled.batch}, "
        f"{scaled.seeds} seeds. {'; '.join(sizes)}.",
        f"A model counts only if its exact match up to the training length is at least {LEARNED}; "
        "the table says how many did.",
        "A seed fixes the data, their order and the initial weights that models have in common. "
        f"Positions: {', '.join(POSITIONS.values())}. With a random start, the paper's offsets go "
        "as far as the longest test, and so do ours.",
        "Strings of parity have any number of ones with equal chance, as in the paper, which makes "
        "it easier than independent bits: a guess from nearly equal strings scores above a half.",
    ]


TASKS = Experiment("c-rasp-tasks", plan, section, shared_runs=SHARED_RUNS)
