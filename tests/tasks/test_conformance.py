"""Every task of the package keeps to the suite, and so does one of every other kind."""

from small_tasks import OnesFirst, ZerosOut

from lengthwise.registry import TASKS
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, Othello, SetComplement
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


class TestOtherKinds(TaskConformance):
    tasks = (OnesFirst(), ZerosOut(), Sum(), Sum(padded=True), Sum(padded=True, tracks=2))
