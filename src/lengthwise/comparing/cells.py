"""The cells of a comparison, each a function of its recipe, and the fleets they train in."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.runs import Recipe
from lengthwise.runs.description import recipe_to_json

RULES = 1
"""Rises when cells of the same recipe would come out differently, or be measured otherwise."""

ARITHMETIC = 2
"""Rises when the same sums are taken in another order, so that the last digits of a step differ:
cells then come out the same within what another processor would change, and no longer bit for bit.
Records of the first have no such number. In the second, a GPT's last layer is read only where
something is asked, and fleets have kernels of their own for few keys."""


@dataclass(frozen=True)
class Job:
    """Models that train as one fleet: one entry on one task, at some rates and seeds."""

    remedy: str
    """The entry, as tables show it."""
    task: str
    """The task, as tables show it."""
    recipe: Recipe
    hyperparameters: tuple[Hyperparameters, ...]
    baseline: Recipe
    """Beside which the time of a step is measured."""
    baseline_hyperparameters: tuple[Hyperparameters, ...]
    """Of the baseline at the same rates and seeds."""

    @property
    def model_steps(self) -> int:
        """Models times steps: what it costs, roughly."""
        return len(self.hyperparameters) * self.recipe.steps

    def __str__(self) -> str:
        seeds = sorted({one.seed for one in self.hyperparameters})
        shown = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}..{seeds[-1]}"
        return f"{self.remedy} on {self.task}, {shown}"


LATER: dict[str, Any] = {"fixed": False, "piece": None}
"""Fields that tasks got after the first records: at these values they are left out, so that cells
keep their names."""


def cell_recipe(recipe: Recipe) -> dict[str, Any]:
    """All of a recipe that what comes out depends on, as JSON values."""
    values = recipe_to_json(recipe)
    # A comparison measures on the way by itself.
    for name in ("device", "start_from", "test_steps"):
        values.pop(name)
    values["task"] = {
        name: value
        for name, value in values["task"].items()
        if name not in LATER or value != LATER[name]
    }
    return values


def cell_hash(recipe: str, hyperparameters: str) -> str:
    """The name of a cell: a digest of all that it is a function of, given as compact JSON."""
    content = f"{RULES}\n{recipe}\n{hyperparameters}"
    return hashlib.sha256(content.encode()).hexdigest()[:20]


def hashes(job: Job) -> list[str]:
    """The cells of a job, in the order of its models."""
    recipe = compact(cell_recipe(job.recipe))
    return [cell_hash(recipe, compact(asdict(one))) for one in job.hyperparameters]


def compact(values: Any) -> str:
    """JSON that is the same for the same values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))
