"""The runs: a softmax model, what it is converted into, and the same from scratch."""

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


class Arm(NamedTuple):
    """One way to a model."""

    line: Line
    remedy: str | None = None
    """What takes the place of the softmax."""
    before: bool = True
    """Whether the softmax model's steps are part of the training, its own or from scratch."""
    after: bool = True
    """Whether the steps of finetuning are."""
    start: str | None = None
    """The run that it starts from."""


ARMS = {
    "softmax": Arm(Line("softmax", COLOURS["grey"], "--"), after=False),
    "softmax-on": Arm(Line("softmax, trained on", COLOURS["grey"]), before=False, start="softmax"),
    "converted": Arm(
        Line("converted", COLOURS["blue"], "-", "s"), "t2r", before=False, start="softmax"
    ),
    "converted-norm": Arm(
        Line("converted, norm for division", COLOURS["green"], "-", "^"), "t2r-norm",
        before=False, start="softmax",
    ),
    "scratch": Arm(
        Line("from scratch, as finetuned", COLOURS["orange"], "--"), "t2r", before=False
    ),
    "scratch-long": Arm(Line("from scratch, as both", COLOURS["orange"]), "t2r"),
}  # fmt: skip

SOFTMAX, SOFTMAX_ON, CONVERTED, CONVERTED_NORM, SCRATCH, SCRATCH_LONG = ARMS

MOST_IN_RANGE = 0.1
"""A softmax model has learned the source if it is nearer than this at the training length."""

SMALLEST = 0.02
"""A difference by less, in nats per token, would not matter: 2 % of perplexity. The published
difference between finetuned and from scratch is 0.06 (19.6 and 20.8). All rules are ours."""

RATES = {**dict.fromkeys(ARMS, 3e-3), SCRATCH: 1e-3, SCRATCH_LONG: 1e-3}
"""The better of 1e-3 and 3e-3 on a pilot seed, of softmax, converted and from scratch; the norm in
place of the division and a paper's size had no pilot."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    before: int
    after: int
    batch: int
    layers: int
    heads: int
    width: int
    features: int
    reach: int
    trained: int
    lengths: tuple[int, ...]
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size(2, 20, 10, 8, 1, 2, 16, 4, 2, 8, (4, 8, 10, 16), 4),
    "laptop": Size(
        4, 1_000, 400, 32, 2, 4, 64, 16, 12, 64, (16, 32, 64, 72, 80, 96, 128, 192, 256), 32
    ),
    "paper": Size(
        5, 286_000, 40_000, 64, 16, 8, 1024, 32, 12, 512,
        (64, 128, 256, 512, 576, 640, 768, 1024, 1536, 2048), 64,
    ),
}  # fmt: skip
"""Layers, heads and width of "paper" are those of its language models, and 32 features as well (the
latter and its steps from memory); its data are text, ours are made."""


def steps(scale: Scale, arm: Arm) -> int:
    """How long an arm is trained, without what it starts from."""
    size = SIZES[scale]
    return arm.before * size.before + arm.after * size.after


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every arm, paired by seed; converted ones start from the softmax model of their seed."""
    size = SIZES[scale]
    task = Markov(reach=size.reach, longest=size.lengths[-1])
    plain = replace(
        default_hyperparameters(task),
        final_lr_fraction=0.1,
        ema_powers=(),
        bias_powers=(),
    )
    found = {}
    for label, arm in ARMS.items():
        remedies = ["rotary"]
        if arm.remedy is not None:
            remedies.append(f"{arm.remedy}:features={size.features}")
        recipe = recipe_for(
            task,
            GPTModel(
                layers=size.layers, heads=size.heads, width=size.width, remedies=tuple(remedies)
            ),
            max_train_length=size.trained,
            steps=steps(scale, arm),
            batch=size.batch,
            test_lengths=size.lengths,
            test_inputs=size.test_inputs,
            start_from=arm.start,
        )
        rate = 2.5e-4 if scale == "paper" else RATES[label]
        models = (replace(plain, seed=seed, learning_rate=rate) for seed in range(size.seeds))
        found[label] = PlannedRun(recipe, tuple(models))
    return found
