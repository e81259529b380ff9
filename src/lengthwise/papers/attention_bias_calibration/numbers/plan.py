"""The runs: successor and addition, trained plainly, then anew with biases made of that."""

from dataclasses import replace
from typing import Literal, NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.arms import Line
from lengthwise.models import EncoderDecoderModel
from lengthwise.report.style import COLOURS
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import Addition, AnswerTask, Successor

Kind = Literal["successor", "addition"]
Form = Literal["padded", "unpadded"]
FORMS: tuple[Form, Form] = ("padded", "unpadded")
"""Whether numbers have leading zeros up to the longest of the tests, as published: inputs of all
lengths then have one size. Unpadded, a longer number is a longer input."""

LINES = {
    "plain": Line("no bias", COLOURS["grey"], "--", "s"),
    "calibrated": Line("calibrated", COLOURS["blue"]),
    "random": Line("random diagonals", COLOURS["orange"], "-", "^"),
    "learned": Line("learned bias", COLOURS["green"], "-", "D"),
}
PLAIN, CALIBRATED, RANDOM, LEARNED = LINES

MEASURE = "exact_match"
"""All digits and the end of the answer are right."""

LEAST = 0.9
"""Biases are calibrated on models that get so many answers right at the longest training length;
others count for nothing."""

SMALLEST = 0.1
"""A share of right answers that differs by less would not matter. These rules are ours."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    steps: int
    batch: int
    layers: tuple[int, int]
    """Padded and unpadded, as all pairs here."""
    heads: int
    width: int
    learning_rate: float
    trained: int
    cross_deviations: tuple[float, float]
    lengths: tuple[int, ...]
    test_inputs: int
    dropout: float = 0.0


PUBLISHED = Size(
    5, 14_336, 512, (3, 3), 8, 128, 1e-4, 6, (4.5, 2.0), (1, 3, 6, 7, 8, 10, 20, 30, 40, 60), 1000,
    0.3,
)  # fmt: skip
SIZES: dict[Kind, dict[Scale, Size]] = {
    "successor": {
        "quick": Size(2, 20, 8, (1, 1), 2, 16, 1e-3, 2, (1.0, 1.0), (1, 2, 3, 5), 8),
        "laptop": Size(
            3, 1_500, 64, (1, 2), 4, 64, 2e-3, 6, (3.0, 2.0), (1, 3, 6, 7, 8, 10, 12, 16), 128
        ),
        "paper": PUBLISHED,
    },
    "addition": {
        "quick": Size(2, 20, 8, (1, 1), 2, 16, 1e-3, 2, (1.0, 1.0), (1, 2, 3, 4), 8),
        "laptop": Size(3, 3_000, 64, (2, 2), 4, 64, 2e-3, 2, (2.0, 1.5), (1, 2, 3, 4, 5, 6), 128),
        "paper": PUBLISHED,
    },
}
"""Layers, heads, width, rate, batch, dropout, lengths and deviations of "paper" are the published
code's; its steps are eight epochs of 7/8 of 2^20 examples, where the authors stop early."""


def task_of(kind: Kind, scale: Scale, form: Form) -> AnswerTask:
    """What is trained on, with the most significant digit first and answers reversed."""
    # Padded numbers have one digit more than any of the tests, as published: 61 for 60.
    longest = SIZES[kind][scale].lengths[-1] + (form == "padded")
    if kind == "successor":
        return Successor(longest=longest, fixed=form == "padded")
    return Addition(longest=longest, padding="fixed" if form == "padded" else "longest")


def label_of(form: Form, arm: str) -> str:
    """The label of a run."""
    return f"{form}-{arm}"


def plan(kind: Kind, scale: Scale) -> dict[str, PlannedRun]:
    """All arms in both forms, paired by seed; biases are made of the plain run of their form."""
    return {
        label_of(form, arm): _planned(kind, scale, form, arm) for form in FORMS for arm in LINES
    }


def _planned(kind: Kind, scale: Scale, form: Form, arm: str) -> PlannedRun:
    size, task = SIZES[kind][scale], task_of(kind, scale, form)
    place = FORMS.index(form)
    bar = f"cross_deviations={size.cross_deviations[place]:g}"
    bias = {
        PLAIN: (),
        CALIBRATED: (f"calibrated:{bar}",),
        RANDOM: (f"calibrated:bias=random,{bar}",),
        LEARNED: ("diagonal",),
    }
    recipe = recipe_for(
        task,
        EncoderDecoderModel(
            layers=size.layers[place], encoder_layers=0, heads=size.heads, width=size.width,
            counted="backward", layout="post", remedies=("sinusoidal", *bias[arm]),
        ),
        min_train_length=1,
        max_train_length=size.trained,
        steps=size.steps,
        batch=size.batch,
        test_lengths=size.lengths,
        test_inputs=size.test_inputs,
        start_from=label_of(form, PLAIN) if arm in (CALIBRATED, RANDOM) else None,
    )  # fmt: skip
    common = replace(
        default_hyperparameters(task),
        learning_rate=size.learning_rate,
        beta2=0.98,
        final_lr_fraction=0.1,
        resid_dropout=size.dropout,
        ema_powers=(),
        bias_powers=(),
    )
    models = (replace(common, seed=seed) for seed in range(size.seeds))
    return PlannedRun(recipe, tuple(models))
