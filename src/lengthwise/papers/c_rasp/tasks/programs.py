"""Claims: a task carries if and only if it has a C-RASP program."""

from lengthwise.claims import Claim
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import separation
from lengthwise.papers.c_rasp.tasks.plan import CELLS
from lengthwise.papers.c_rasp.tasks.section import TASKS

TASKS_WITH_POSITIONS = Claim(
    name="c-rasp/tasks-with-positions",
    sentence=(
        "With learned positions from a random start, tasks with a C-RASP program carry to three "
        "times the training length, and the others do not."
    ),
    source=f"{ARXIV}, table of algorithmic tasks",
    experiment=TASKS,
    evidence=lambda results: separation(results, CELLS, "offset"),
    place=10,
)

TASKS_WITHOUT_POSITIONS = Claim(
    name="c-rasp/tasks-without-positions",
    sentence=(
        "Without positions, tasks with a C-RASP program carry to three times the training length, "
        "and the others do not."
    ),
    source=f"{ARXIV}, table of algorithmic tasks",
    experiment=TASKS,
    evidence=lambda results: separation(results, CELLS, "none"),
    place=20,
)
