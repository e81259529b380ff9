"""The runs behind the claims on variates: three ways to train, three models."""

from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import InvertedModel
from lengthwise.runs import recipe_for
from lengthwise.tasks import HiddenFactors
from lengthwise.training import Hyperparameters


class Variant(NamedTuple):
    """A model by name."""

    title: str
    alone: bool = False
    remedies: tuple[str, ...] = ()


INVERTED, ALONE, NORM = "inverted", "alone", "norm"

VARIANTS = {
    INVERTED: Variant("inverted"),
    ALONE: Variant("channel by channel", alone=True),
    NORM: Variant("inverted, LayerNorm after attention", remedies=("layernorm",)),
}
"""Channel by channel is the same model in which no variate reads another. (The paper's baseline
reads the times of a variate by a transformer.)"""

FIFTH, FEW, ALL = "fifth", "few", "all"

TRAINED = {
    FIFTH: "a fifth of the variates",
    FEW: "as few at a time, drawn from all",
    ALL: "all variates at once",
}
"""How training draws. From `all` to `few` inputs of tests have *more* variates than those of
training; from `few` to `fifth` variates are *unseen* as well."""


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: tuple[int, ...]
    steps: int
    variates: int
    """All variates; training on a fifth has a fifth of them."""
    width: int
    heads: int
    window: int
    horizon: int
    test_inputs: int


SIZES: dict[Scale, Size] = {
    "quick": Size((0, 1), 40, 20, 16, 2, 24, 6, 32),
    "laptop": Size((0, 1, 2, 3, 4, 5), 1000, 80, 32, 4, 48, 12, 256),
    "paper": Size((0, 1, 2, 3, 4), 20_000, 320, 512, 8, 96, 96, 1024),
}
"""Width, heads and window of the paper scale are the paper's, and 320 variates are about those of
its electricity data; the rest is ours."""

RATE = 1e-3
"""In a pilot on seed 100, 3e-3 gave losses within 3 % of these for every model. Ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every model trained in every way; models are paired by seed."""
    size = SIZES[scale]
    fifth = size.variates // 5
    models = tuple(
        Hyperparameters(seed=seed, learning_rate=RATE, beta2=0.999, ema_powers=(), bias_powers=())
        for seed in size.seeds
    )
    return {
        label(variant, trained): PlannedRun(
            recipe_for(
                task(scale, seen),
                InvertedModel(
                    layers=2, heads=size.heads, width=size.width, alone=made.alone,
                    remedies=made.remedies,
                ),
                max_train_length=length,
                steps=size.steps,
                batch=16,
                test_lengths=(fifth,),
                test_inputs=size.test_inputs,
            ),
            models,
        )
        for variant, made in VARIANTS.items()
        for trained, seen, length in (
            (FIFTH, fifth, fifth), (FEW, size.variates, fifth), (ALL, size.variates, size.variates),
        )
    }  # fmt: skip


def task(scale: Scale, seen: int) -> HiddenFactors:
    """Series of which training draws the first `seen` variates."""
    size = SIZES[scale]
    return HiddenFactors(
        window=size.window, horizon=size.horizon, variates=size.variates, seen=seen
    )


def label(variant: str, trained: str) -> str:
    """The label of a run."""
    return f"{variant}-{trained}"
