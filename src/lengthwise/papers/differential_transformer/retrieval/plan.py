"""The runs: set readers with softmax and with differential attention, and what is judged how."""

from dataclasses import replace
from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.arms import Line
from lengthwise.models import SetReaderModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetTask

TASKS: dict[str, SetTask] = {"argmax": ArgmaxRetrieval(), "dictionary": DictionaryLookup()}

TITLES = {"argmax": "argmax retrieval", "dictionary": "dictionary lookup"}


class Arm(NamedTuple):
    """One kind of attention."""

    line: Line
    heads: int
    remedies: tuple[str, ...]


ARMS = {
    "softmax": Arm(Line("softmax, 2 heads", COLOURS["orange"]), 2, ()),
    "softmax-norm": Arm(
        Line("softmax + norm per head", COLOURS["orange"], "--", "s"), 2, ("layernorm-per-head",)
    ),
    "differential": Arm(Line("differential", COLOURS["blue"]), 1, ("differential",)),
    "no-norm": Arm(
        Line("differential without norm", COLOURS["blue"], "--", "s"),
        1,
        ("differential:norm=none",),
    ),
    "second-version": Arm(
        Line("differential, version 2", COLOURS["green"], "-", "^"), 2, ("differential-v2",)
    ),
}  # fmt: skip
"""A head of the first version has two maps and values of twice the width, so one head stands for
two of softmax. The second version doubles the queries: it has more weights."""

SOFTMAX, SOFTMAX_NORM, DIFFERENTIAL, NO_NORM, SECOND = ARMS

RATES = {
    "argmax": dict(zip(ARMS, (1e-3, 3e-3, 3e-4, 1e-3, 1e-3), strict=True)),
    "dictionary": dict.fromkeys(ARMS, 3e-3),
}
"""The learning rate of every arm by task: the best of 3e-4, 1e-3 and 3e-3 on two pilot seeds."""

LEAST_ACCURACY = 0.8
"""A model counts only if it has this accuracy at the longest training length; and softmax is said
to break where its mean accuracy falls below this part of that."""

BEYOND = 4
"""Gains are read where softmax breaks, and at this many times that length."""

SMALLEST_GAIN = 0.01
"""A gain in accuracy by less than one point would not matter."""

SMALLEST_GROWTH = 0.1
"""A best lambda that grows by less would not matter. All of these rules are ours."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    steps: int
    width: int
    longest: int
    test_inputs: int
    test_items: int
    swept_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 250, 32, 2**8, 2**8, 2**15, 2**7),
    "laptop": Size(8, 4_000, 64, 2**12, 2**12, 2**20, 2**10),
    "paper": Size(10, 100_000, 128, 2**14, 2**15, 2**27, 2**12),
}
"""Batch, training sizes and weight decay are those of arXiv 2410.01104, and so are the width,
steps and seeds of the scale "paper". The rest is ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every arm on both tasks, paired by seed."""
    size = SIZES[scale]
    return {label(task, arm): _planned(task, arm, size) for task in TASKS for arm in ARMS}


def label(task: str, arm: str) -> str:
    """The label of a run."""
    return f"{task}-{arm}"


def _planned(task: str, name: str, size: Size) -> PlannedRun:
    arm, plain = ARMS[name], default_hyperparameters(TASKS[task])
    lengths: tuple[int, ...] = TASKS[task].defaults["test_lengths"]
    recipe = recipe_for(
        TASKS[task],
        SetReaderModel(width=size.width, heads=arm.heads, remedies=arm.remedies),
        steps=size.steps,
        test_lengths=tuple(length for length in lengths if length <= size.longest),
        test_inputs=size.test_inputs,
        test_items=size.test_items,
    )
    models = (
        replace(plain, seed=seed, learning_rate=RATES[task][name]) for seed in range(size.seeds)
    )
    return PlannedRun(recipe, tuple(models))
