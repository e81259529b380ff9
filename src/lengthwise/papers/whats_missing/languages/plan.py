"""The runs behind the claims on formal languages."""

from dataclasses import replace
from typing import Any, NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.claims.readings import EMA_POWERS
from lengthwise.models import GPTModel
from lengthwise.registry import TASKS
from lengthwise.runs import recipe_for
from lengthwise.tasks import Task
from lengthwise.training import Hyperparameters

LANGUAGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tomita-4": ("Tomita 4: no 000", "tomita-4", {}),
    "d-4": ("D-4", "d-n", {"n": 4}),
    "dyck-1": ("Dyck-1", "dyck-1", {}),
    "012-02": ("{0,1,2}*02*", "012-02", {}),
}
"""Title, task and its fields. Which languages the paper has is not known to us: these have several
legal tokens after most prefixes, and a GPT without positions learns them. Ours."""


class Variant(NamedTuple):
    """What is changed."""

    title: str
    remedies: tuple[str, ...] = ()
    layout: str = "pre"


VARIANTS = {
    "baseline": Variant("baseline"),
    "norm": Variant("LayerNorm after attention", ("layernorm",)),
    "post": Variant("post-LN layers", layout="post"),
}


class Scaled(NamedTuple):
    """What a scale changes."""

    trained: int
    """The longest input of training; tests go up to three times that."""
    seeds: int
    layers: int
    heads: int
    width: int
    batch: int
    steps: int
    test_inputs: int


SCALES: dict[Scale, Scaled] = {
    "quick": Scaled(5, 3, 1, 2, 16, 16, 150, 128),
    "laptop": Scaled(20, 4, 2, 2, 64, 32, 1_000, 512),
    "paper": Scaled(50, 10, 4, 4, 256, 64, 30_000, 2_000),
}
"""The paper's sizes are not known to us. All ours."""

RATE = 1e-3
"""It stays constant: where it falls to 0, no average of the weights has anything to do. Ours."""


def plan(scale: Scale) -> dict[str, PlannedRun]:
    """Every language without a remedy, with the norm, and with post-LN layers; paired by seed."""
    return {
        f"{language}-{variant}": _planned(scale, language, variant)
        for language in LANGUAGES
        for variant in VARIANTS
    }


def _planned(scale: Scale, language: str, variant: str) -> PlannedRun:
    scaled, changed = SCALES[scale], VARIANTS[variant]
    _, name, fields = LANGUAGES[language]
    longest = 3 * scaled.trained
    task = TASKS.get(name)(longest=longest, **fields)
    assert isinstance(task, Task)
    recipe = recipe_for(
        task,
        GPTModel(
            layers=scaled.layers, heads=scaled.heads, width=scaled.width,
            layout=changed.layout,  # type: ignore[arg-type]
            remedies=("none", *changed.remedies),
        ),
        max_train_length=scaled.trained,
        batch=scaled.batch,
        steps=scaled.steps,
        test_lengths=tuple(range(1, longest + 1)),
        test_inputs=scaled.test_inputs,
    )  # fmt: skip
    one = Hyperparameters(learning_rate=RATE, ema_powers=EMA_POWERS)
    return PlannedRun(recipe, tuple(replace(one, seed=seed) for seed in range(scaled.seeds)))
