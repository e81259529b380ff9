"""Tasks: what models are trained on, with the exact target of every answer. One file each."""

from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import (
    IGNORE_INDEX,
    Batch,
    Lookup,
    SetInput,
    SetTask,
    Task,
    Tokens,
    TokenTask,
    task,
)
from lengthwise.tasks._languages import Language
from lengthwise.tasks._series import PairTask, Series, SeriesTask
from lengthwise.tasks.argmax_retrieval import ArgmaxRetrieval
from lengthwise.tasks.dictionary_lookup import DictionaryLookup
from lengthwise.tasks.hidden_factors import HiddenFactors
from lengthwise.tasks.othello import Othello
from lengthwise.tasks.same_well import SameWell
from lengthwise.tasks.set_complement import SetComplement

__all__ = [
    "IGNORE_INDEX",
    "AnswerTask",
    "ArgmaxRetrieval",
    "Batch",
    "DictionaryLookup",
    "HiddenFactors",
    "Language",
    "Lookup",
    "Othello",
    "PairTask",
    "SameWell",
    "Series",
    "SeriesTask",
    "SetComplement",
    "SetInput",
    "SetTask",
    "Task",
    "TokenTask",
    "Tokens",
    "task",
]
