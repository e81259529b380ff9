"""The runs: addition with coupled positions, random start and none; and how they are judged."""

from dataclasses import replace
from typing import Any, NamedTuple

from lengthwise.claims import PlannedRun, Results, Scale
from lengthwise.claims import arms as read
from lengthwise.claims.arms import Line
from lengthwise.models import GPTModel
from lengthwise.models.predictive import PredictiveModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import Addition
from lengthwise.tasks._digits import EQUALS

SHARED_RUNS = "position-coupling-addition"
"""Experiments that train the same models share their runs."""

LINES = {
    "coupled": Line("coupled, 1 layer", COLOURS["blue"]),
    "random-start": Line("random start, 1 layer", COLOURS["orange"]),
    "none": Line("no positions, 1 layer", COLOURS["grey"], "--", "s"),
    "coupled-deep": Line("coupled, 2 layers", COLOURS["green"], "-", "^"),
    "predictive": Line("predicted ids, 1 layer", COLOURS["purple"], "--", "D"),
}

COUPLED, RANDOM_START, NONE, DEEP, PREDICTIVE = LINES

MEASURE = "exact_match"
"""All digits and the end of the sum are right."""

RATES = {COUPLED: 3e-3, RANDOM_START: 1e-3, NONE: 3e-3, DEEP: 1e-3, PREDICTIVE: 3e-3}
"""The better of 1e-3 and 3e-3 on a pilot seed: of coupled positions at 10 digits, of random start
at 3, which it half learns. No positions: both alike. Predicted ids take that of coupling."""

LEAST = 0.9
"""Reach is the longest length up to which so many sums are right; a model has learned its training
lengths if so many are right at the longest of them."""

SMALLEST_FACTOR = 1.1
"""A reach that is greater by less would not matter."""

SMALLEST_LOSS = 0.05
"""A share of right sums that differs by less would not matter. All of these rules are ours."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    steps: int
    batch: int
    width: int
    trained: int
    lengths: tuple[int, ...]
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 40, 16, 32, 3, (1, 3, 4, 6), 16),
    "laptop": Size(4, 6_000, 64, 64, 10, (1, 5, 8, 10, 11, 12, 13, 15, 17, 20, 25, 30), 128),
    "paper": Size(8, 50_000, 1000, 512, 30, (1, 10, 20, 30, 40, 60, 80, 100, 150, 200), 1000),
}
"""Those of "paper" are the paper's, and so are layers, heads, norms, MLPs and how the learning rate
rises and falls; it is 1e-4 there."""


def plan(scale: Scale, *labels: str) -> dict[str, PlannedRun]:
    """Runs by label (default: all but the predictive ones), paired by seed."""
    wanted = labels or (COUPLED, RANDOM_START, NONE, DEEP)
    return {label: planned(scale, label) for label in wanted}


def planned(scale: Scale, label: str) -> PlannedRun:
    """One run."""
    size = SIZES[scale]
    coupled = label in (COUPLED, DEEP, PREDICTIVE)
    task = Addition(positions="coupled" if coupled else "plain", longest=size.lengths[-1])
    common: dict[str, Any] = {
        "layers": 2 if label == DEEP else 1,
        "heads": 4,
        "width": size.width,
        "layout": "sandwich",
        "norm": "rmsnorm",
        "mlp": "gated",
    }
    if label == PREDICTIVE:
        model: GPTModel = PredictiveModel(remedies=("learned",), prompt_end=EQUALS, **common)
    else:
        model = GPTModel(remedies=("none",) if label == NONE else ("offset",), **common)
    recipe = recipe_for(
        task,
        model,
        max_train_length=size.trained,
        steps=size.steps,
        batch=size.batch,
        test_lengths=size.lengths,
        test_inputs=size.test_inputs,
    )
    plain = replace(
        default_hyperparameters(task),
        learning_rate=1e-4 if scale == "paper" else RATES[label],
        warmup=size.steps // 100,
        final_lr_fraction=0.1,
        ema_powers=(),
        bias_powers=(),
    )
    models = (replace(plain, seed=seed) for seed in range(size.seeds))
    return PlannedRun(recipe, tuple(models))


def learned(results: Results, *labels: str) -> list[int]:
    """The seeds at which all of these runs learned the training lengths."""
    trained = results.recipe.max_train_length
    return read.learned(results, labels, MEASURE, trained, LEAST)


def reach(results: Results, label: str) -> dict[int, float]:
    """The longest length up to which sums are right, at least 1, by seed."""
    found = read.reach(results, label, MEASURE, LEAST)
    return {seed: float(max(1, length)) for seed, length in found.items()}
