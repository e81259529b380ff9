"""Every task of the package keeps to the suite, and so does one of every other kind."""

from small_tasks import OnesFirst, RunningMean, ZerosOut

from lengthwise.registry import TASKS
from lengthwise.tasks import (
    Addition,
    ArgmaxRetrieval,
    Cases,
    DictionaryLookup,
    FlipFlop,
    LocalGlobal,
    Markov,
    Minesweeper,
    Multiplication,
    MultiQueryRecall,
    MultiTokenRecall,
    NBack,
    Needle,
    Othello,
    ParityScratchpad,
    SetComplement,
    SparseParity,
    StringEdits,
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
        Addition(padding="fixed", longest=4),
        Successor(fixed=True, longest=5),
        Multiplication(second=1, padded=False),
        Multiplication(positions="coupled", order="reversed"),
        ParityScratchpad(scratchpad=False, longest=4),
        ParityScratchpad(positions="coupled"),
        Minesweeper(positions="plain", longest=5),
    )


class TestAnswers(TaskConformance):
    tasks = (
        StringEdits(operations=("reverse",), longest=5),
        StringEdits(operations=("remove", "pop", "duplicate"), split="held-out"),
        StringEdits(operations=("push", "remove"), piece=3, longest=9),
        MultiTokenRecall(symbols=3, key_size=2, value_size=1, queries=1, blanks=0, longest=9),
    )


class TestReading(TaskConformance):
    tasks = (
        MultiQueryRecall(keys=2, values=2, slots=1),
        FlipFlop(ignore=0.0, longest=3),
        FlipFlop(ignore=0.98),
        NBack(back=1, symbols=2, longest=2),
        Needle(names=2, values=2),
        Cases(answer="place", balanced=False),
        Cases(vocab=3, lowest_marker=0, first_marker=2, longest=4),
        LocalGlobal(answer="place"),
        LocalGlobal(vocab=2, marker=1, longest=3),
        SparseParity(marked=8, longest=30),
        SparseParity(marked=1, longest=1),
        Markov(symbols=2, reach=2, noise=1.0, longest=50),
        Markov(noise=0.0, reach=5),
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
