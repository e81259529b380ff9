"""All recipes by the name of their task, in and out of JSON."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from lengthwise.errors import require_name
from lengthwise.runs.othello import OthelloRecipe
from lengthwise.runs.recipe import Recipe
from lengthwise.runs.retrieval import ArgmaxRetrievalRecipe, DictionaryLookupRecipe
from lengthwise.runs.set_complement import SetComplementRecipe
from lengthwise.training import Hyperparameters

RECIPES: dict[str, type[Recipe]] = {
    recipe.name: recipe
    for recipe in (
        SetComplementRecipe,
        ArgmaxRetrievalRecipe,
        DictionaryLookupRecipe,
        OthelloRecipe,
    )
}


def to_json(recipe: Recipe, members: Sequence[Hyperparameters]) -> dict[str, Any]:
    """A recipe and its members as plain JSON values."""
    return {
        "task": recipe.name,
        "recipe": dataclasses.asdict(recipe),  # type: ignore[call-overload]
        "members": [dataclasses.asdict(member) for member in members],
    }


def from_json(values: dict[str, Any]) -> tuple[Recipe, tuple[Hyperparameters, ...]]:
    """The recipe and the members that `to_json` was given."""
    require_name(values["task"], RECIPES, "task")
    members = tuple(_read(Hyperparameters, member) for member in values["members"])
    return _read(RECIPES[values["task"]], values["recipe"]), members


def _read(kind: type[Any], values: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(kind)]
    for name in values:
        require_name(name, known, "field")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
