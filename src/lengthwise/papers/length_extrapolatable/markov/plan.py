"""The runs: GPTs with three kinds of positions on a source with a memory, and how to judge them."""

from dataclasses import replace
from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.arms import Line
from lengthwise.models import GPTModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import Markov

MEASURE = "kl"
"""Nats per token above what the source itself leaves unknown."""

BLOCKWISE = "kl_blockwise"
"""The same of the same model, read with blockwise attention."""

TRAINED = 64
"""The longest input of training; blocks at test are half of it."""


class Arm(NamedTuple):
    """One kind of positions."""

    line: Line
    remedy: str


ARMS = {
    "rotary": Arm(Line("rotary", COLOURS["orange"]), "rotary"),
    "xpos": Arm(Line("xPos", COLOURS["blue"]), "xpos:scale_base=32"),
    "xpos-slow": Arm(Line("xPos, scale 512", COLOURS["purple"], "--", "s"), "xpos"),
    "alibi": Arm(Line("ALiBi", COLOURS["green"], "-", "^"), "alibi"),
}
"""The scale of xPos is half the training length, as the paper's 512 is of its 1024; with 512 as it
is, decay over 64 tokens is slight."""

ROTARY, XPOS, XPOS_SLOW, ALIBI = ARMS

RATES = {**dict.fromkeys(ARMS, 3e-3), ALIBI: 1e-3}
"""The learning rate of every arm, out of 1e-3 and 3e-3 on a pilot seed."""

MOST_IN_RANGE = 0.1
"""A model counts only if it is nearer to the source than this at the longest training length."""

BEYOND = (2 * TRAINED, 16 * TRAINED)
"""Lengths over which what happens beyond training is averaged."""

SMALLEST = 0.05
"""A difference by less, in nats per token, would not matter. All of these rules are ours."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    steps: int
    layers: int
    heads: int
    width: int
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 60, 2, 2, 32, 4),
    "laptop": Size(5, 1_500, 2, 4, 64, 32),
    "paper": Size(5, 50_000, 24, 16, 1024, 64),
}
"""Layers, heads and width of "paper" are the paper's; its data are text, ours are made."""

LENGTHS = (16, 32, 48, 64, 72, 80, 96, 128, 192, 256, 512, 1024)


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every kind of positions, paired by seed, each read with all keys and blockwise."""
    size, task = SIZES[scale], Markov()
    plain = default_hyperparameters(task)
    plain = replace(plain, final_lr_fraction=0.1, ema_powers=(), bias_powers=())
    found = {}
    for name, arm in ARMS.items():
        recipe = recipe_for(
            task,
            GPTModel(
                layers=size.layers, heads=size.heads, width=size.width, remedies=(arm.remedy,)
            ),
            max_train_length=TRAINED,
            steps=size.steps,
            test_lengths=LENGTHS,
            test_inputs=size.test_inputs,
            test_remedies=("blockwise",),
        )
        models = (
            replace(plain, seed=seed, learning_rate=RATES[name]) for seed in range(size.seeds)
        )
        found[name] = PlannedRun(recipe, tuple(models))
    return found
