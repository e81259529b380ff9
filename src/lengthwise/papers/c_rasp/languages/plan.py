"""The runs behind the table of languages, and which of them are in C-RASP."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import GPTModel
from lengthwise.papers.c_rasp.cells import POSITIONS, Cell, Cells
from lengthwise.registry import TASKS
from lengthwise.runs import recipe_for
from lengthwise.tasks import Task
from lengthwise.training import Hyperparameters


@dataclass(frozen=True)
class Row:
    """A language of the table."""

    title: str
    task: str
    programs: tuple[bool | None, bool | None]
    """Whether it is in C-RASP with positions, and without."""
    published: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
    """Match of whole words in % with positions, and without."""
    fields: dict[str, Any] = field(default_factory=dict)


PERFECT = (100.0, 100.0, 100.0)

ROWS = {
    "tomita-1": Row("Tomita 1: 1*", "tomita-1", (True, True), (PERFECT, PERFECT)),
    "tomita-2": Row("Tomita 2: (10)*", "tomita-2", (True, True), (PERFECT, PERFECT)),
    "d-2": Row("D-2", "d-n", (True, True), (PERFECT, PERFECT), {"n": 2}),
    "d-4": Row("D-4", "d-n", (True, True), (PERFECT, PERFECT), {"n": 4}),
    "abcde": Row("aa*bb*cc*dd*ee*", "abcde", (True, True), (PERFECT, PERFECT)),
    "ab-d-bc": Row(
        "{a,b}*d{b,c}*", "ab-d-bc", (True, True), ((100, 99.8, 98.5), (100, 99.8, 98.5))
    ),
    "tomita-7": Row(
        "Tomita 7: 0*1*0*1*", "tomita-7", (True, True), ((100, 94.2, 93.2), (100, 87.5, 76.2))
    ),
    "dyck-1": Row("Dyck-1", "dyck-1", (True, True), (PERFECT, PERFECT)),
    "tomita-4": Row("Tomita 4: no 000", "tomita-4", (True, None), (None, None)),
    "aa-star": Row("(aa)*", "aa-star", (True, False), (PERFECT, (100, 0, 0))),
    "012-02": Row("{0,1,2}*02*", "012-02", (False, False), ((99.7, 24.4, 1.2), (18.2, 11.2, 0))),
    "tomita-3": Row("Tomita 3", "tomita-3", (False, False), ((60, 7.7, 0), (21, 0, 0))),
    "tomita-5": Row("Tomita 5", "tomita-5", (False, False), ((54, 0, 0), (7, 0, 0))),
    "tomita-6": Row("Tomita 6", "tomita-6", (False, False), ((60, 0, 0), (2, 0, 0))),
}
"""What C-RASP without positions says of Tomita 4 is not at hand."""

CELLS = Cells(
    {
        f"{name}-{positions}": Cell(row.title, positions, row.programs[n], row.published[n])
        for name, row in ROWS.items()
        for n, positions in enumerate(POSITIONS)
    },
    "legal_set_match",
)


class Scaled(NamedTuple):
    """What a scale changes."""

    trained: int
    """The longest input of training; tests go up to three times that."""
    seeds: int
    layers: int
    heads: int
    width: int
    batch: int
    steps: int
    test_inputs: int


SCALES: dict[Scale, Scaled] = {
    "quick": Scaled(4, 2, 1, 2, 16, 8, 30, 64),
    "laptop": Scaled(20, 3, 2, 2, 64, 32, 1_000, 512),
    "paper": Scaled(50, 5, 4, 4, 256, 64, 30_000, 2_000),
}
"""Lengths, batch and seeds of the paper; it searches 1, 2 or 4 layers and heads and widths of 16,
64 and 256, of which ours has the largest. The rest is ours."""

RATE = 1e-3
"""Ours; the same for all."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every language with both kinds of positions, paired by seed."""
    return {
        f"{name}-{positions}": planned(scale, row, positions)
        for name, row in ROWS.items()
        for positions in POSITIONS
    }


def planned(scale: Scale, row: Row, positions: str) -> PlannedRun:
    """The run of one cell."""
    scaled = SCALES[scale]
    longest = 3 * scaled.trained
    task = TASKS.get(row.task)(longest=longest, **row.fields)
    assert isinstance(task, Task)
    recipe = recipe_for(
        task,
        GPTModel(
            layers=scaled.layers, heads=scaled.heads, width=scaled.width, remedies=(positions,)
        ),
        max_train_length=scaled.trained,
        batch=scaled.batch,
        steps=scaled.steps,
        test_lengths=tuple(range(1, longest + 1)),
        test_inputs=scaled.test_inputs,
    )
    one = Hyperparameters(
        learning_rate=RATE,
        weight_decay=0.01,
        final_lr_fraction=0.0,
        ema_powers=(),
        bias_powers=(),
    )
    return PlannedRun(recipe, tuple(replace(one, seed=seed) for seed in range(scaled.seeds)))
