"""Lengths of which training sees every input: there, memory can pass for skill."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from lengthwise.randomness import address
from lengthwise.runs.recipe import Recipe
from lengthwise.tasks import Task, TokenTask

DRAWS = 2048
"""Inputs that are drawn where nobody knows how many there are. Ours."""


def exhausted_lengths(recipe: Recipe) -> dict[int, int]:
    """Lengths of which training most likely sees every input, with how many inputs they have.

    Where a task knows how many inputs a length has, and draws them alike, that is where less than
    one of them is expected to be left over. Elsewhere some inputs are drawn: if there is none that
    occurs just once among them, hardly any is left to be seen (the estimate of Good and Turing),
    and training draws more than that.
    """
    found = {}
    shortest = recipe.task.lengths[0] if recipe.task.prefixes else recipe.min_train_length
    for length in range(shortest or recipe.max_train_length, recipe.max_train_length + 1):
        draws = _draws(recipe, length)
        count = recipe.task.count_inputs(length)
        if count is None:
            count = count_by_drawing(recipe.task, length)
            if count is not None and draws >= DRAWS:
                found[length] = count
        elif count <= draws and count * math.exp(-draws / count) < 1:
            found[length] = count
    return found


def exhausted_note(recipe: Recipe) -> str | None:
    """The same in words, or None where there is no such length."""
    found = exhausted_lengths(recipe)
    if not found:
        return None
    longest = max(found)
    count = "is one input" if found[longest] == 1 else f"are {found[longest]} inputs"
    split = recipe.task.held_out() != recipe.task and not recipe.task.prefixes
    told = "tests draw others" if split else "memory can pass for skill"
    return (
        f"exhausted lengths: {ranges(found)}; training sees every input there (of length "
        f"{longest} there {count}), and {told}"
    )


def count_by_drawing(task: Task, length: int) -> int | None:
    """How many different inputs there are, where so few that none is left after some draws."""
    if not isinstance(task, TokenTask):
        return None
    inputs = task.draw(torch.tensor(address("exhausted", length)), length, DRAWS).inputs
    tokens = inputs if isinstance(inputs, Tensor) else inputs.tokens
    counts = tokens.unique(dim=0, return_counts=True)[1]
    return None if (counts == 1).any() else len(counts)


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in words, those that follow one another as one: 1..3, 5."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}..{p[-1]}" for p in parts)


def _draws(recipe: Recipe, length: int) -> float:
    """How many inputs of a length training draws; with prefixes, longer ones begin with one."""
    longest = recipe.max_train_length
    shortest = longest if recipe.min_train_length is None else recipe.min_train_length
    steps = recipe.steps / (longest - shortest + 1)
    if recipe.task.prefixes:
        steps *= longest - max(length, shortest) + 1
    return steps * recipe.batch
