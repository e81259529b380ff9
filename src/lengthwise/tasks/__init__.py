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
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.argmax_retrieval import ArgmaxRetrieval
from lengthwise.tasks.cases import Cases
from lengthwise.tasks.dictionary_lookup import DictionaryLookup
from lengthwise.tasks.flip_flop import FlipFlop
from lengthwise.tasks.hidden_factors import HiddenFactors
from lengthwise.tasks.local_global import LocalGlobal
from lengthwise.tasks.markov import Markov
from lengthwise.tasks.minesweeper import Minesweeper
from lengthwise.tasks.mqar import MultiQueryRecall
from lengthwise.tasks.mqmtar import MultiTokenRecall
from lengthwise.tasks.multiplication import Multiplication
from lengthwise.tasks.n_back import NBack
from lengthwise.tasks.needle import Needle
from lengthwise.tasks.othello import Othello
from lengthwise.tasks.parity_scratchpad import ParityScratchpad
from lengthwise.tasks.same_well import SameWell
from lengthwise.tasks.set_complement import SetComplement
from lengthwise.tasks.sparse_parity import SparseParity
from lengthwise.tasks.string_edits import StringEdits
from lengthwise.tasks.successor import Successor

__all__ = [
    "IGNORE_INDEX",
    "Addition",
    "AnswerTask",
    "ArgmaxRetrieval",
    "Batch",
    "Cases",
    "DictionaryLookup",
    "FlipFlop",
    "HiddenFactors",
    "Language",
    "LocalGlobal",
    "Lookup",
    "Markov",
    "Minesweeper",
    "MultiQueryRecall",
    "MultiTokenRecall",
    "Multiplication",
    "NBack",
    "Needle",
    "Othello",
    "PairTask",
    "ParityScratchpad",
    "SameWell",
    "Series",
    "SeriesTask",
    "SetComplement",
    "SetInput",
    "SetTask",
    "SparseParity",
    "StringEdits",
    "Successor",
    "Task",
    "TokenTask",
    "Tokens",
    "task",
]
