"""Runs: folders that hold a training, its measures and all that is needed to go on with it."""

from lengthwise.runs.execute import Interrupted, Progress, execute
from lengthwise.runs.folder import RunFolder
from lengthwise.runs.othello import OthelloRecipe
from lengthwise.runs.parallel import execute_all
from lengthwise.runs.recipe import Recipe
from lengthwise.runs.retrieval import ArgmaxRetrievalRecipe, DictionaryLookupRecipe
from lengthwise.runs.set_complement import SetComplementRecipe

__all__ = [
    "ArgmaxRetrievalRecipe",
    "DictionaryLookupRecipe",
    "Interrupted",
    "OthelloRecipe",
    "Progress",
    "Recipe",
    "RunFolder",
    "SetComplementRecipe",
    "execute",
    "execute_all",
]
