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
from lengthwise.tasks.argmax_retrieval import ArgmaxRetrieval
from lengthwise.tasks.dictionary_lookup import DictionaryLookup
from lengthwise.tasks.othello import Othello
from lengthwise.tasks.set_complement import SetComplement

__all__ = [
    "IGNORE_INDEX",
    "AnswerTask",
    "ArgmaxRetrieval",
    "Batch",
    "DictionaryLookup",
    "Language",
    "Lookup",
    "Othello",
    "SetComplement",
    "SetInput",
    "SetTask",
    "Task",
    "TokenTask",
    "Tokens",
    "task",
]
