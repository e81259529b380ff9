"""Tasks: what models are asked, with the exact answer."""

from lengthwise.tasks._base import (
    NO_ANSWER,
    Asked,
    Batch,
    Inputs,
    Question,
    SequenceTask,
    SetTask,
    Task,
)
from lengthwise.tasks.argmax_retrieval import ArgmaxRetrieval
from lengthwise.tasks.dictionary_lookup import DictionaryLookup
from lengthwise.tasks.othello import Othello
from lengthwise.tasks.set_complement import SetComplement

__all__ = [
    "NO_ANSWER",
    "ArgmaxRetrieval",
    "Asked",
    "Batch",
    "DictionaryLookup",
    "Inputs",
    "Othello",
    "Question",
    "SequenceTask",
    "SetComplement",
    "SetTask",
    "Task",
]
