"""How each task is trained in a comparison: the same for every remedy."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lengthwise.comparing.scores import GATE, MULTIPLES, score_of
from lengthwise.errors import InputError, require
from lengthwise.models import Model
from lengthwise.registry import TASKS
from lengthwise.runs import Recipe
from lengthwise.tasks import Task


@dataclass(frozen=True)
class Plan:
    """One task of a comparison, as the baseline is trained on it."""

    name: str
    """The name of the task, or of this plan for it."""
    recipe: Recipe
    """Of the baseline."""
    score: str
    """By which models are judged: see `lengthwise.comparing.scores.score_of`."""
    gate: float = GATE
    """The score at the training length that a model must have to count."""


def plan(name: str, model: Model, settings: Mapping[str, Any], **training: Any) -> Plan:
    """The plan of a task.

    Args:
        name: A task by name or file, or what the plan is called if `settings` have the `task`.
        model: The baseline.
        settings: Fields of the task and of its training that are not the default, and `score` and
            `gate`.
        training: Fields of the recipe that all tasks of a study share.

    Raises:
        InputError: The task is not known, has too few lengths, or answers with numbers.
    """
    settings = dict(settings)
    kind: Any = TASKS.get(settings.pop("task", name))
    own = {field.name for field in dataclasses.fields(kind)}
    score, gate = settings.pop("score", None), settings.pop("gate", GATE)
    fields = {key: settings.pop(key) for key in own & settings.keys()}
    task: Task = kind(**fields)
    expected = "a task whose answers are classes: of numbers, no share can be right"
    require(not task.numbers, "tasks", task.name, expected)
    length = settings.pop("max_train_length", None) or training["max_train_length"]
    lengths = test_lengths(task, length)
    defaults = {
        "max_train_length": length,
        "min_train_length": None if task.prefixes else task.lengths[0],
        "test_lengths": lengths,
    }
    values = training | defaults | settings
    called = task.name if name.endswith(".py") else name
    return Plan(called, Recipe(task=task, model=model, **values), score or score_of(task), gate)


def test_lengths(task: Task, train_length: int) -> tuple[int, ...]:
    """The multiples of the training length that a task has."""
    if train_length not in task.lengths:
        raise InputError(
            f"max_train_length = {train_length}: expected one of {task.lengths[0]}.."
            f"{task.lengths[-1]}, the lengths of {task.name!r}"
        )
    wanted = [round(multiple * train_length) for multiple in MULTIPLES]
    found = tuple(length for length in wanted if length in task.lengths)
    expected = f"a task with lengths beyond {train_length}, on which something can be tested"
    require(len(found) >= 2, "tasks", task.name, expected)
    return found
