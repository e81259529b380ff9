"""The paper's tables: exact match of a task with and without positions, in three bins of length."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars

from lengthwise.claims import Drawing, Finding, Results, Table, estimate
from lengthwise.claims.readings import alive, by_seed
from lengthwise.report.style import COLOURS, Axes, Figure, new_panels
from lengthwise.runs import Recipe

POSITIONS = {"offset": "learned, random start", "none": "none"}
"""The two kinds of positions by the remedy's name."""

TIMES = ("1x", "2x", "3x")
"""The bins: up to the training length, up to twice and up to three times that."""

LEARNED = 0.9
"""A model counts only if it has this exact match in the first bin. Ours: the paper trains until it
is 1, and seeds until five models are there."""

SMALLEST_GAP = 0.1
"""A difference in exact match by less than ten points would not matter. Ours."""


@dataclass(frozen=True)
class Cell:
    """A task, or language, with one kind of positions."""

    title: str
    positions: str
    program: bool | None
    """Whether the paper has a C-RASP program for it; None where we do not know what it says."""
    published: tuple[float, ...] | None = None
    """Exact match in % in the three bins; None where the number is not at hand."""


@dataclass(frozen=True)
class Cells:
    """All cells of a table by the labels of their runs."""

    cells: Mapping[str, Cell]
    measure: str
    """What counts as a match: all of an answer, or all legal sets of a word."""

    def planned(self, results: Results) -> dict[str, Cell]:
        """The cells that are trained at this scale."""
        return {label: cell for label, cell in self.cells.items() if label in results.plan}

    def of(self, results: Results, positions: str, program: bool) -> list[str]:
        """The labels with these positions that have a program, or have none."""
        return [
            label
            for label, cell in self.planned(results).items()
            if cell.positions == positions and cell.program is program
        ]

    def match(self, results: Results, label: str, bin: int) -> dict[int, float]:
        """Exact match in a bin by seed."""
        first, last = bounds(results.plan[label].recipe, bin)
        rows = alive(results.tables[label], self.measure)
        return by_seed(rows.filter(polars.col("length").is_between(first, last)))

    def learned(self, results: Results, label: str) -> set[int]:
        """The seeds at which the task was learned at its training lengths."""
        return {seed for seed, one in self.match(results, label, 0).items() if one >= LEARNED}

    def of_learned(self, results: Results, label: str, bin: int) -> dict[int, float]:
        """Exact match in a bin by seed, of the models that learned."""
        learned = self.learned(results, label)
        found = self.match(results, label, bin)
        return {seed: one for seed, one in found.items() if seed in learned}


def bounds(recipe: Recipe, bin: int) -> tuple[int, int]:
    """The first and the last length of a bin."""
    trained = recipe.max_train_length
    return bin * trained + 1, (bin + 1) * trained


def separation(results: Results, cells: Cells, positions: str) -> list[Finding]:
    """Whether what has a program lies above what has none, at three times the training length."""
    seeds = {one.seed for run in results.plan.values() for one in run.hyperparameters}
    inside, outside = (cells.of(results, positions, program) for program in (True, False))

    def at(label: str, seed: int) -> list[float]:
        found = cells.of_learned(results, label, 2)
        return [found[seed]] if seed in found else []

    lowest, highest, gaps = [], [], []
    for seed in sorted(seeds):
        above = [one for label in inside for one in at(label, seed)]
        below = [one for label in outside for one in at(label, seed)]
        lowest += [min(above)] if above else []
        highest += [max(below)] if below else []
        gaps += [min(above) - max(below)] if above and below else []
    words = f"positions: {POSITIONS[positions]}"
    return [
        Finding(
            "exact match at 2 to 3 times the training length, the worst with a program minus the "
            f"best without one; {words}",
            estimate(gaps),
            SMALLEST_GAP,
        ),
        Finding(f"the worst with a program; {words}", estimate(lowest), LEARNED, decides=False),
        Finding(
            f"1 - the best without a program; {words}",
            estimate([1 - one for one in highest]),
            1 - LEARNED,
            decides=False,
        ),
    ]


def gap(
    effect: str, results: Results, cells: Cells, upper: str, lower: str, bin: int,
    *, decides: bool = True,
) -> Finding:  # fmt: skip
    """By how much exact match is higher in one cell than in another, seed by seed."""
    above, below = (cells.of_learned(results, label, bin) for label in (upper, lower))
    both = sorted(above.keys() & below.keys())
    return Finding(
        effect, estimate([above[seed] - below[seed] for seed in both]), SMALLEST_GAP, decides
    )


def table(results: Results, cells: Cells, name: str, caption: str) -> Table:
    """Every cell, ours beside the published ones."""
    rows = []
    for label, cell in cells.planned(results).items():
        learned = cells.learned(results, label)
        ours = [_percent(cells.of_learned(results, label, bin).values()) for bin in range(3)]
        program = {True: "yes", False: "no", None: "?"}[cell.program]
        rows.append(
            [
                cell.title,
                POSITIONS[cell.positions],
                program,
                f"{len(learned)} of {len(results.plan[label].hyperparameters)}",
                *(ours if learned else [_percent(cells.match(results, label, 0).values()), "", ""]),
                "/".join(f"{one:g}" for one in cell.published) if cell.published else "not at hand",
            ]
        )
    columns = ["task", "positions", "program", "learned", *TIMES, "published"]
    return Table(name, caption, columns, rows)


def _percent(values: Iterable[float]) -> str:
    found = list(values)
    if not found:
        return ""
    spread = f" ± {100 * np.std(found, ddof=1):.1f}" if len(found) > 1 else ""
    return f"{100 * np.mean(found):.1f}{spread}"


def matrix(name: str, cells: Cells, what: str) -> Drawing:
    """The table as a picture: ours on the left of every pair, the published one on the right."""
    return Drawing(
        name,
        lambda results: _draw(results, cells, what),
        f"{what} in %, mean over the seeds that learned, up to the training length (1x), up to "
        "twice (2x) and up to three times (3x) that. Left column of each pair: ours; right: "
        "published, at the published sizes. A dot: what the paper has a C-RASP program for. "
        "Hatched: no model learned the training lengths. Empty: not at hand.",
        f"{what} by task, positions and length, beside the published numbers",
    )


def _draw(results: Results, cells: Cells, what: str) -> Figure:
    planned = cells.planned(results)
    titles = list(dict.fromkeys(cell.title for cell in planned.values()))
    figure, panels = new_panels(10.4, 1.5 + 0.36 * len(titles), 1, 2, sharey=True)
    for axes, positions in zip(panels, POSITIONS, strict=True):
        own = {label: cell for label, cell in planned.items() if cell.positions == positions}
        for label, cell in own.items():
            _draw_row(axes, results, cells, label, cell, titles.index(cell.title))
        axes.set_title(f"Positions: {POSITIONS[positions]}", pad=26)
        axes.set_xlim(-0.75, 5.9)
        axes.set_ylim(len(titles) - 0.5, -0.5)
        axes.set_xticks(
            [0, 0.95, 2.2, 3.15, 4.4, 5.35],
            [f"{one}\n{times}" for times in TIMES for one in ("ours", "paper")],
        )
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
    panels[0].set_yticks(range(len(titles)), titles)
    return figure


def _draw_row(axes: Axes, results: Results, cells: Cells, label: str, cell: Cell, row: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    colours = LinearSegmentedColormap.from_list("match", ["#f4e3d7", "#ffffff", COLOURS["blue"]])
    learned = cells.learned(results, label)
    if cell.program:
        axes.plot(-0.62, row, "o", color=COLOURS["green"], markersize=5, clip_on=False)
    for bin in range(3):
        values = list(cells.of_learned(results, label, bin).values())
        ours = 100 * float(np.mean(values)) if values else None
        published = cell.published[bin] if cell.published else None
        for side, value in enumerate((ours, published)):
            x = 2.2 * bin + 0.95 * side
            hatched = side == 0 and not learned
            axes.add_patch(
                Rectangle(
                    (x - 0.45, row - 0.44), 0.9, 0.88, lw=0.6, edgecolor="#d0d0d0",
                    facecolor=colours(value / 100) if value is not None else "#fafafa",
                    hatch="////" if hatched else None,
                )
            )  # fmt: skip
            if value is not None:
                dark = value > 70
                axes.text(
                    x, row, f"{value:.0f}", ha="center", va="center", fontsize=9,
                    color="white" if dark else "#222222",
                )  # fmt: skip
