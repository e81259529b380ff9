"""Every task of the package keeps to the suite, and so does one of every other kind."""

from small_tasks import OnesFirst, RunningMean, ZerosOut

from lengthwise.registry import TASKS
from lengthwise.tasks import (
    Addition,
    ArgmaxRetrieval,
    DictionaryLookup,
    Minesweeper,
    Multiplication,
    Othello,
    ParityScratchpad,
    SetComplement,
    Successor,
)
from lengthwise.testing import TaskConformance
from lengthwise.testing._shared import Sum


class TestPackage(TaskConformance):
    tasks = tuple(TASKS.listed())


class TestVariants(TaskConformance):
    tasks = (
        ArgmaxRetrieval(classes=2),
        DictionaryLookup(classes=3, keys="symbols", symbols=30, key_width=8),
        DictionaryLookup(classes=4, keys="repeating", symbols=7, key_width=4),
        Othello(4),
        Othello(6, split="held-out"),
        SetComplement(2),
        SetComplement(7),
    )


class TestArithmetic(TaskConformance):
    tasks = (
        Addition(operands=3, padding="none", longest=30, split="held-out"),
        Addition(padding="none", positions="coupled", order="plain"),
        Addition(padding="answer", hints=102, order="reversed", operand_lengths="equal"),
        Addition(spaces=0.3, padding="none", longest=20),
        Successor(positions="coupled", order="plain"),
        Successor(padded=True, order="reversed", longest=2),
        Multiplication(second=1, padded=False),
        Multiplication(positions="coupled", order="reversed"),
        ParityScratchpad(scratchpad=False, longest=4),
        ParityScratchpad(positions="coupled"),
        Minesweeper(positions="plain", longest=5),
    )


class TestOtherKinds(TaskConformance):
    tasks = (
        OnesFirst(),
        ZerosOut(),
        RunningMean(),
        Sum(),
        Sum(padded=True),
        Sum(padded=True, tracks=2),
    )
