"""The runs: the recipe for addition, and it without one part at a time; how they are judged."""

from dataclasses import replace
from typing import Any, NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.arms import Line
from lengthwise.models import GPTModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import Addition

MEASURE = "exact_match"
"""All hints and digits and the end of the sum are right."""


class Arm(NamedTuple):
    """The recipe, or what it is left without."""

    line: Line
    order: str = "reversed"
    hints: bool = True
    dropout: float = 0.0


ARMS = {
    "recipe": Arm(Line("hints, reversed", COLOURS["blue"])),
    "no-hints": Arm(Line("no hints", COLOURS["grey"], "--", "s"), hints=False),
    "plain-order": Arm(Line("not reversed", COLOURS["orange"], "-", "^"), order="plain"),
    "dropout": Arm(Line("dropout 0.2", COLOURS["purple"], "--", "D"), dropout=0.2),
}

RECIPE, NO_HINTS, PLAIN_ORDER, DROPOUT = ARMS

LEAST = 0.9
"""A model has learned its training lengths if so many sums are right at the longest of them."""

PERFECT = 0.98
"""A model is perfect in range if so many sums are right at every training length."""

SMALLEST = 0.05
"""A share of right sums that differs by less would not matter."""

SMALLEST_SPREAD = 0.05
"""Nor would a smaller standard deviation over seeds. All of these rules are ours."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    steps: int
    batch: int
    layers: int
    heads: int
    width: int
    rate: float
    warmup: int
    trained: int
    lengths: tuple[int, ...]
    beyond: tuple[int, int]
    """First and last of the lengths over which what happens beyond training is averaged."""
    hints: int
    ids: int
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 20, 8, 1, 2, 16, 3e-3, 5, 2, (1, 2, 3, 4), (3, 3), 6, 64, 8),
    "laptop": Size(
        5, 2_500, 64, 2, 4, 64, 3e-3, 100, 3, (1, 2, 3, 4, 5, 6), (4, 4), 10, 64, 256
    ),
    "paper": Size(
        10, 50_000, 1_000, 6, 8, 512, 3e-4, 500, 40, (1, 10, 20, 30, *range(40, 101, 5)),
        (45, 100), 102, 2048, 1_000,
    ),
}  # fmt: skip
"""Those of "paper" are the paper's, but for the batch: it packs sums into 128 x 2048 tokens, about
as many as 1000 sums have. Kinds of norms, MLP and decay of weights are the paper's throughout."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """One run per arm, paired by seed."""
    return {label: _planned(scale, arm) for label, arm in ARMS.items()}


def _planned(scale: Scale, arm: Arm) -> PlannedRun:
    size = SIZES[scale]
    task: Any = Addition(
        order=arm.order,  # type: ignore[arg-type]
        operand_lengths="equal",
        padding="answer",
        hints=size.hints if arm.hints else 0,
        longest=size.lengths[-1],
    )
    recipe = recipe_for(
        task,
        GPTModel(
            layers=size.layers, heads=size.heads, width=size.width, layout="sandwich",
            norm="rmsnorm", mlp="gated", remedies=("fire", f"randomized:count={size.ids}"),
        ),
        max_train_length=size.trained,
        steps=size.steps,
        batch=size.batch,
        test_lengths=size.lengths,
        test_inputs=size.test_inputs,
    )  # fmt: skip
    plain = replace(
        default_hyperparameters(task),
        learning_rate=size.rate,
        warmup=size.warmup,
        weight_decay=0.1,
        attention_dropout=arm.dropout,
        resid_dropout=arm.dropout,
        ema_powers=(),
        bias_powers=(),
    )
    models = (replace(plain, seed=seed) for seed in range(size.seeds))
    return PlannedRun(recipe, tuple(models))
