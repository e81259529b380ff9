"""The runs behind the table of tasks, and which of them have a C-RASP program."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import GPTModel
from lengthwise.papers.c_rasp.cells import POSITIONS, Cell, Cells
from lengthwise.registry import TASKS
from lengthwise.runs import recipe_for
from lengthwise.tasks import Task
from lengthwise.training import Hyperparameters

SHARED_RUNS = "c-rasp-tasks"


class Size(NamedTuple):
    """A model, and how long it trains."""

    layers: int
    heads: int
    width: int
    rate: float
    steps: int


@dataclass(frozen=True)
class Row:
    """A task of the table."""

    title: str
    task: str
    programs: tuple[bool, bool]
    """Whether there is a C-RASP program with positions, and without."""
    published: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
    """Exact match in % with positions, and without."""
    paper: Size
    laptop: Size
    symbols: bool = False
    """Whether the task has as many symbols as its longest string has places."""
    strands: int = 1
    """How many strings a length counts the symbols of one of."""
    shortest: int = 1


ROWS = {
    "binary-majority": Row(
        "binary majority", "binary-majority", (True, True),
        ((100, 100, 100), (100, 100, 100)),
        Size(1, 1, 16, 1e-3, 30_000), Size(1, 1, 16, 3e-3, 2_000),
    ),
    "majority": Row(
        "majority", "majority", (True, True),
        ((100, 99.6, 97.8), (100, 99.9, 98.5)),
        Size(1, 2, 256, 1e-3, 30_000), Size(1, 2, 64, 1e-3, 3_000),
    ),
    "interleaved-majority": Row(
        "interleaved majority", "interleaved-majority", (True, False), (None, None),
        Size(2, 4, 256, 1e-4, 30_000), Size(2, 4, 64, 1e-3, 3_000), strands=3,
    ),
    "sort": Row(
        "sort", "sort", (True, True), ((100, 100, 99.4), None),
        Size(1, 2, 256, 1e-3, 30_000), Size(1, 2, 64, 3e-3, 3_000), symbols=True,
    ),
    "unique-copy": Row(
        "unique copy", "unique-copy", (True, False),
        ((100, 99.9, 98.7), (100, 18.0, 0)),
        Size(2, 1, 64, 1e-3, 30_000), Size(2, 1, 64, 3e-3, 8_000), symbols=True,
    ),
    "repeat-copy": Row(
        "repeat copy", "repeat-copy", (False, False),
        ((100, 25.6, 0), (100, 28.0, 0)),
        Size(4, 4, 256, 1e-3, 30_000), Size(2, 4, 64, 3e-3, 12_000),
    ),
    "parity": Row(
        "parity", "crasp-parity", (False, False),
        ((100, 83.0, 62.1), (97.5, 74.5, 63.3)),
        Size(4, 2, 256, 1e-3, 30_000), Size(2, 2, 64, 1e-3, 8_000),
    ),
    "addition": Row(
        "addition", "crasp-addition", (False, False),
        ((99.7, 26.8, 0), (99.5, 27.7, 0)),
        Size(12, 4, 256, 1e-4, 60_000), Size(2, 4, 64, 1e-3, 3_000), shortest=4,
    ),
}  # fmt: skip
"""The paper's sizes are those of its code's best settings. Of majority, sort, repeat copy and
parity the rate is not at hand, of addition the heads and width: ours. The laptop's are all ours."""

CELLS = Cells(
    {
        f"{name}-{positions}": Cell(row.title, positions, row.programs[n], row.published[n])
        for name, row in ROWS.items()
        for n, positions in enumerate(POSITIONS)
    },
    "exact_match",
)


class Scaled(NamedTuple):
    """What a scale changes."""

    trained: int
    """The longest string of training; tests go up to three times that."""
    seeds: int
    batch: int
    test_inputs: int
    step: int
    """Every so many-th length is tested."""


SCALES: dict[Scale, Scaled] = {
    "quick": Scaled(3, 2, 8, 32, 1),
    "laptop": Scaled(20, 4, 64, 128, 4),
    "paper": Scaled(50, 5, 64, 400, 10),
}
"""The paper's lengths, batch and seeds; tests on 2,000 strings of every bin. The rest is ours."""

QUICK = Size(1, 2, 16, 3e-3, 30)


LEFT_OUT: dict[Scale, tuple[str, ...]] = {"quick": (), "laptop": ("addition",), "paper": ()}
"""Small models did not learn addition in some thousand steps, which would say nothing. Ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every task with both kinds of positions, paired by seed."""
    return {
        f"{name}-{positions}": planned(scale, name, positions)
        for name in ROWS
        if name not in LEFT_OUT[scale]
        for positions in POSITIONS
    }


def planned(
    scale: Scale, name: str, positions: str, remedies: tuple[str, ...] = (), layout: str = "pre"
) -> PlannedRun:
    """The run of one cell, with more remedies or another layout where one asks what they do."""
    row, scaled = ROWS[name], SCALES[scale]
    size = {"quick": QUICK, "laptop": row.laptop, "paper": row.paper}[scale]
    task = _task(row, scaled)
    trained = max(row.shortest, scaled.trained // row.strands)
    step = max(1, scaled.step // row.strands)
    model = GPTModel(
        layers=size.layers, heads=size.heads, width=size.width, layout=layout,  # type: ignore[arg-type]
        remedies=(positions, *remedies),
    )  # fmt: skip
    recipe = recipe_for(
        task,
        model,
        min_train_length=row.shortest,
        max_train_length=trained,
        batch=scaled.batch,
        steps=size.steps,
        test_lengths=tuple(n for n in range(step, 3 * trained + 1, step) if n >= row.shortest),
        test_inputs=scaled.test_inputs,
    )
    one = Hyperparameters(
        learning_rate=size.rate,
        weight_decay=0.01,
        warmup=3_000 if size.layers == 12 else 100,
        final_lr_fraction=0.0,
        ema_powers=(),
        bias_powers=(),
    )
    return PlannedRun(recipe, tuple(replace(one, seed=seed) for seed in range(scaled.seeds)))


def _task(row: Row, scaled: Scaled) -> Task:
    longest = 3 * max(row.shortest, scaled.trained // row.strands)
    fields = {"symbols": longest} if row.symbols else {}
    task = TASKS.get(row.task)(longest=longest, **fields)
    assert isinstance(task, Task)
    return task
