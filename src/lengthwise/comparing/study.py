"""A study: every remedy on every task, at several learning rates and seeds."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from lengthwise.comparing.cells import Job, cell_hash, cell_recipe, compact
from lengthwise.comparing.entries import Entry, baseline_entry, parse
from lengthwise.comparing.plans import Plan
from lengthwise.errors import InputError, require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model
from lengthwise.registry import files_of, load_files
from lengthwise.remedies._chain import names_of
from lengthwise.runs.description import (
    converted,
    hyperparameters_from_json,
    recipe_from_json,
    recipe_to_json,
)
from lengthwise.trust import require_trusted

SEEDS_PER_FLEET = 3
"""Models of three seeds at all rates train side by side: larger fleets gain little at these sizes,
and a worker that is killed loses more."""

MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Study:
    """What is compared, and how."""

    plans: tuple[Plan, ...]
    """The tasks."""
    entries: tuple[Entry, ...]
    """The remedies; the first is the baseline."""
    rates: tuple[float, ...]
    """Learning rates: as many for the baseline as for everything else."""
    seeds: int
    """How many: 1, 2, 3, ..."""
    hyperparameters: Hyperparameters
    """What all models share beside seed and learning rate."""
    scale: str = "own"
    """The name of its scale, such as `laptop`."""

    def __post_init__(self) -> None:
        require(len(self.plans) > 0, "tasks", [], "at least one task")
        require(1 <= self.seeds <= MOST_SEEDS, "seeds", self.seeds, f"1..{MOST_SEEDS}")
        distinct = len(set(self.rates)) == len(self.rates) >= 1
        require(distinct, "rates", list(self.rates), "learning rates, each once")
        for what, names in (
            ("tasks", [one.name for one in self.plans]),
            ("remedies", [one.name for one in self.entries]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            require(not twice, what, twice, "different ones of each name")
        for plan in self.plans:
            for entry in self.entries:
                try:  # says what does not go together before anything is trained
                    recipe = entry.recipe(plan.recipe)
                    recipe.require_used([self._hyperparameters(entry, 1, self.rates[0])])
                except InputError as error:
                    raise InputError(f"{entry.name} on {plan.name}: {error}") from error

    @property
    def baseline(self) -> Entry:
        """What all other entries are compared with."""
        return self.entries[0]

    @property
    def model(self) -> Model:
        """The model of the baseline."""
        return self.baseline.model

    def trainings(self) -> list[Entry]:
        """The entries to train: those that differ in what is read of them only are one."""
        found: dict[Entry, Entry] = {}
        for entry in self.entries:
            found.setdefault(entry.training, replace(entry, weights="raw"))
        return list(found.values())

    def cells(self, entry: Entry, plan: Plan) -> dict[tuple[int, float], str]:
        """The cells of an entry on a task, by seed and learning rate.

        Args:
            entry: One of the remedies.
            plan: One of the tasks, with its settings.
        """
        recipe = compact(cell_recipe(entry.recipe(plan.recipe)))
        by_rate = {rate: asdict(self._hyperparameters(entry, 1, rate)) for rate in self.rates}
        return {
            (seed, rate): cell_hash(recipe, compact(by_rate[rate] | {"seed": seed}))
            for seed in range(1, self.seeds + 1)
            for rate in self.rates
        }

    def planned(self) -> set[str]:
        """All cells that are asked for."""
        return {
            cell
            for plan in self.plans
            for entry in self.trainings()
            for cell in self.cells(entry, plan).values()
        }

    def jobs(self, done: set[str]) -> Iterator[Job]:
        """What there is to train, a few seeds of everything at a time.

        Args:
            done: Cells that are recorded already.
        """
        trainings = self.trainings()
        planned = {
            (entry, plan.name): self.cells(entry, plan)
            for plan in self.plans
            for entry in trainings
        }
        for first in range(1, self.seeds + 1, SEEDS_PER_FLEET):
            seeds = range(first, min(first + SEEDS_PER_FLEET, self.seeds + 1))
            for plan in self.plans:
                for entry in trainings:
                    cells = planned[entry, plan.name]
                    missing = [
                        (seed, rate)
                        for seed in seeds
                        for rate in self.rates
                        if cells[seed, rate] not in done
                    ]
                    own, others = (
                        tuple(self._hyperparameters(one, *cell) for cell in missing)
                        for one in (entry, self.baseline)
                    )
                    if missing:
                        recipe = entry.recipe(plan.recipe)
                        yield Job(entry.name, plan.name, recipe, own, plan.recipe, others)

    def joined(self, other: "Study") -> "Study":
        """This study with the tasks, remedies and seeds of another one as well.

        Args:
            other: A study with the same rules, model and scale.

        Raises:
            InputError: They differ in what all cells of a study share.
        """
        for what in ("scale", "baseline", "rates", "hyperparameters"):
            own, others = getattr(self, what), getattr(other, what)
            if own != others:
                shown = own.name if isinstance(own, Entry) else own
                expected = f"{shown!r}, as the study in this folder has it; or another folder"
                given = others.name if isinstance(others, Entry) else others
                raise InputError(f"{what} = {given!r}: expected {expected}")
        plans = {plan.name: plan for plan in self.plans}
        for plan in other.plans:
            if plans.setdefault(plan.name, plan) != plan:
                raise InputError(
                    f"tasks = {plan.name!r}: expected the task of that name that the study in this "
                    "folder has; this is another one, or is trained otherwise"
                )
        entries = {entry.name: entry for entry in self.entries}
        for entry in other.entries:
            if entries.setdefault(entry.name, entry) != entry:
                raise InputError(
                    f"remedies = {entry.name!r}: expected the remedy of that name that the study "
                    "in this folder has; this is another one"
                )
        return replace(
            self,
            plans=tuple(plans.values()),
            entries=tuple(entries.values()),
            seeds=max(self.seeds, other.seeds),
        )

    def to_json(self) -> dict[str, Any]:
        """The study as plain JSON values, with the texts of the user's files that it needs."""
        remedies = [
            name
            for entry in self.entries
            for name in names_of((*entry.model.remedies, *entry.test))
        ]
        return {
            "scale": self.scale,
            "seeds": self.seeds,
            "rates": list(self.rates),
            "hyperparameters": asdict(self.hyperparameters),
            "remedies": [entry.specification for entry in self.entries],
            "tasks": [
                {
                    "name": plan.name, "recipe": recipe_to_json(plan.recipe),
                    "score": plan.score, "gate": plan.gate,
                }
                for plan in self.plans
            ],
            "files": files_of(remedies),
        }  # fmt: skip

    def _hyperparameters(self, entry: Entry, seed: int, rate: float) -> Hyperparameters:
        own = dict(entry.hyperparameters)
        return dataclasses.replace(self.hyperparameters, seed=seed, learning_rate=rate, **own)


def study_from_json(values: Mapping[str, Any]) -> Study:
    """The study that `Study.to_json` was called on.

    Raises:
        InputError: A field is missing or wrong, or brings code along that is not trusted.
    """
    files = converted(values["files"], dict[str, str], "files")
    require_trusted(files)
    load_files(files)
    plans = []
    for one in converted(values["tasks"], list[dict[str, Any]], "tasks"):
        plans.append(
            Plan(
                converted(one["name"], str, "tasks.name"),
                recipe_from_json(converted(one["recipe"], dict[str, Any], "tasks.recipe")),
                converted(one["score"], str, "tasks.score"),
                converted(one["gate"], float, "tasks.gate"),
            )
        )
    require(len(plans) > 0, "tasks", [], "at least one task")
    model = plans[0].recipe.model
    _, *others = converted(values["remedies"], list[str], "remedies") or [""]
    (shared,) = hyperparameters_from_json([values["hyperparameters"]])
    return Study(
        plans=tuple(plans),
        entries=(baseline_entry(model), *(parse(one, model) for one in others)),
        rates=tuple(converted(values["rates"], list[float], "rates")),
        seeds=converted(values["seeds"], int, "seeds"),
        hyperparameters=shared,
        scale=converted(values["scale"], str, "scale"),
    )
