"""The runs: parity of k marked bits among many, one run for each k, and how they are judged."""

from dataclasses import replace
from typing import NamedTuple

from lengthwise.claims import PlannedRun, Results, Scale
from lengthwise.claims import arms as read
from lengthwise.claims.arms import Line
from lengthwise.models import GPTModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import SparseParity

MARKED = {"1-bit": 1, "2-bits": 2, "3-bits": 3}
"""How many tokens an answer depends on (beside the marks), by label."""

LINES = {
    "1-bit": Line("k = 1", COLOURS["blue"]),
    "2-bits": Line("k = 2", COLOURS["green"], "-", "^"),
    "3-bits": Line("k = 3", COLOURS["orange"], "-", "s"),
}

MEASURE = "accuracy"
"""How often the parity is right; 0.5 is chance."""

LEAST = 0.9
"""Reach is the longest length up to which so many parities are right; a model has learned its
training lengths if so many are right at the longest of them."""

SMALLEST_SLOPE = 0.1
"""Reach that falls by less than k to this power would not matter: 10 % from k = 1 to 3."""

RATE = 1e-3
"""Of all k: on a pilot seed the best of 1e-3, 3e-3 and 1e-2 at k = 1, and of two at k = 2 and 3."""


class Size(NamedTuple):
    """How much is trained and measured. All ours: the paper's sizes are not known to us."""

    seeds: int
    steps: int
    batch: int
    layers: int
    heads: int
    width: int
    trained: int
    lengths: tuple[int, ...]
    test_inputs: int
    test_items: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 30, 16, 1, 2, 16, 8, (4, 8, 10, 16), 32, 1_000),
    "laptop": Size(
        4, 4_000, 64, 2, 4, 64, 12, (4, 8, 12, 16, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480),
        512, 60_000,
    ),
    "paper": Size(
        8, 50_000, 128, 4, 8, 256, 40, (8, 24, 40, 60, 80, 120, 160, 240, 400, 800, 1_600), 2_048,
        400_000,
    ),
}  # fmt: skip


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """One run for each number of marked bits, paired by seed."""
    size = SIZES[scale]
    found = {}
    for label, marked in MARKED.items():
        task = SparseParity(marked=marked, longest=size.lengths[-1])
        recipe = recipe_for(
            task,
            GPTModel(layers=size.layers, heads=size.heads, width=size.width, remedies=("nape",)),
            min_train_length=marked,
            max_train_length=size.trained,
            steps=size.steps,
            batch=size.batch,
            test_lengths=size.lengths,
            test_inputs=size.test_inputs,
            test_items=size.test_items,
        )
        plain = replace(
            default_hyperparameters(task),
            learning_rate=1e-4 if scale == "paper" else RATE,
            final_lr_fraction=0.1,
            ema_powers=(),
            bias_powers=(),
        )
        models = (replace(plain, seed=seed) for seed in range(size.seeds))
        found[label] = PlannedRun(recipe, tuple(models))
    return found


def learned(results: Results, *labels: str) -> list[int]:
    """The seeds at which all of these runs learned the training lengths."""
    return read.learned(results, labels, MEASURE, results.recipe.max_train_length, LEAST)


def reach(results: Results, label: str) -> dict[int, float]:
    """The longest length up to which parities are right, at least 1, by seed."""
    found = read.reach(results, label, MEASURE, LEAST)
    return {seed: float(max(1, length)) for seed, length in found.items()}
