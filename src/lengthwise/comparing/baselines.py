"""What can be had on the tasks of a study without reading the input, kept beside its records."""

import hashlib
import json

import numpy as np

from lengthwise.comparing.cells import cell_recipe, compact
from lengthwise.comparing.folder import StudyFolder
from lengthwise.comparing.plans import Plan
from lengthwise.comparing.scores import ONE_MINUS
from lengthwise.errors import InputError
from lengthwise.files import read_text, write_text
from lengthwise.measures.baselines import baselines

Levels = dict[str, tuple[list[float | None], list[float | None]]]
"""By measure: chance and length only, at every test length."""

FILE = "baselines.json"

INPUTS = 2048
"""Inputs that levels are computed over where they cannot be exact. Ours."""


def levels(folder: StudyFolder) -> dict[str, Levels]:
    """Chance and length-only of every measure, by task; computed once and kept."""
    file = folder.path / FILE
    try:
        kept = json.loads(read_text(file)) if file.exists() else {}
        found = {
            plan.name: kept[_key(plan)] if _key(plan) in kept else _levels(plan)
            for plan in folder.study.plans
        }
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{file} is damaged ({error}): remove it, and it is made again") from error
    new = {_key(plan): found[plan.name] for plan in folder.study.plans}
    if new.keys() - kept.keys():
        write_text(file, json.dumps(kept | new) + "\n")
    return found


def level(known: Levels, measure: str, which: int) -> list[float | None] | None:
    """One of the two levels of a measure or a score, or None where it has none."""
    base = measure.removeprefix(ONE_MINUS)
    if base not in known:
        return None
    values = known[base][which]
    if base == measure:
        return values
    return [None if value is None else 1 - value for value in values]


def _levels(plan: Plan) -> Levels:
    lengths = plan.recipe.test_lengths
    found: dict[str, np.ndarray] = {}
    for one in baselines(plan.recipe.task.held_out(), lengths, inputs=INPUTS):
        known = found.setdefault(one.measure, np.full((2, len(lengths)), np.nan))
        known[:, lengths.index(one.length)] = one.chance, one.length_only
    return {
        measure: tuple([None if np.isnan(v) else float(v) for v in row] for row in known)  # type: ignore[misc]
        for measure, known in found.items()
    }


def _key(plan: Plan) -> str:
    """The task and its lengths: on nothing else do the levels depend."""
    recipe = cell_recipe(plan.recipe)
    told = compact([recipe["task"], recipe["test_lengths"], sorted(recipe["files"].items())])
    return hashlib.sha256(told.encode()).hexdigest()[:20]
