"""Runs: folders that hold a training, its measures and all that is needed to resume it."""

from lengthwise.runs.description import recipe_from_json, recipe_to_json
from lengthwise.runs.execute import Interrupted, execute
from lengthwise.runs.folder import RunFolder
from lengthwise.runs.models import load_model, save_model
from lengthwise.runs.parallel import execute_all
from lengthwise.runs.recipe import Recipe, default_hyperparameters, recipe_for

__all__ = [
    "Interrupted",
    "Recipe",
    "RunFolder",
    "default_hyperparameters",
    "execute",
    "execute_all",
    "load_model",
    "recipe_for",
    "recipe_from_json",
    "recipe_to_json",
    "save_model",
]
