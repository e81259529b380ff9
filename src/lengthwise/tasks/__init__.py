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
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.argmax_retrieval import ArgmaxRetrieval
from lengthwise.tasks.dictionary_lookup import DictionaryLookup
from lengthwise.tasks.minesweeper import Minesweeper
from lengthwise.tasks.multiplication import Multiplication
from lengthwise.tasks.othello import Othello
from lengthwise.tasks.parity_scratchpad import ParityScratchpad
from lengthwise.tasks.set_complement import SetComplement
from lengthwise.tasks.successor import Successor

__all__ = [
    "IGNORE_INDEX",
    "Addition",
    "AnswerTask",
    "ArgmaxRetrieval",
    "Batch",
    "DictionaryLookup",
    "Lookup",
    "Minesweeper",
    "Multiplication",
    "Othello",
    "ParityScratchpad",
    "SetComplement",
    "SetInput",
    "SetTask",
    "Successor",
    "Task",
    "TokenTask",
    "Tokens",
    "task",
]
