"""The runs behind the claims on argmax retrieval and dictionary lookup.

The rules of the laptop scale were written down before any of its seeds was read:
docs/results/vanishing-variance/PLAN.md.
"""

from dataclasses import replace
from typing import NamedTuple

from lengthwise.claims import PlannedRun, Scale
from lengthwise.models import SetReaderModel
from lengthwise.runs import default_hyperparameters, recipe_for
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetTask

SHARED_RUNS = "retrieval"
"""Experiments that train the same set readers share their runs."""

TASKS: dict[str, SetTask] = {"argmax": ArgmaxRetrieval(), "dictionary": DictionaryLookup()}

TITLES = {"argmax": "argmax retrieval", "dictionary": "dictionary lookup"}


class Variant(NamedTuple):
    """What stands after attention."""

    title: str
    remedies: tuple[str, ...] = ()


VARIANTS = {
    "none": Variant("baseline"),
    "layernorm": Variant("LayerNorm", ("layernorm",)),
    "standardization": Variant("standardization", ("standardization",)),
    "rmsnorm": Variant("RMSNorm", ("rmsnorm",)),
    "layernorm-before": Variant("LayerNorm before W_O", ("layernorm:place=before",)),
    "standardization-before": Variant(
        "standardization before W_O", ("standardization:place=before",)
    ),
    "batchnorm": Variant("batch norm", ("batchnorm",)),
}
"""The paper has the first three; the others are ours."""

BASELINE, NORM, STANDARDIZATION = MAIN = ("none", "layernorm", "standardization")


class Size(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    """Of a fleet."""
    steps: int
    width: int
    longest: int
    test_inputs: int
    test_items: int
    first_seed: int = 0
    fleets: int = 1
    test_steps: tuple[int, ...] = ()


MAIN_SIZES: dict[Scale, Size] = {
    "quick": Size(3, 600, 64, 2**8, 2**9, 2**16, test_steps=(200,)),
    "laptop": Size(8, 20_000, 128, 2**14, 2**12, 2**22, 1000, 2, (2_000, 5_000, 10_000)),
    "paper": Size(10, 100_000, 128, 2**14, 2**15, 2**29),
}
"""Width, batch, learning rate, weight decay and the paper scale's steps and seeds are those of
arXiv 2410.01104, which the paper builds on. The rest is ours. Seeds 0 to 4 served to plan the
laptop scale, whose verdicts rest on others."""

LOOKS: dict[Scale, tuple[int, ...]] = {"quick": (), "laptop": (16, 32, 48, 64), "paper": ()}
"""At how many pairs the laptop scale may be read: it stops where they decide."""

LONGER_SIZES: dict[Scale, Size] = {
    "quick": MAIN_SIZES["quick"]._replace(steps=1_000, test_steps=(200, 500)),
    "laptop": MAIN_SIZES["laptop"]._replace(
        steps=100_000, fleets=1, test_steps=(2_000, 5_000, 10_000, 20_000, 50_000)
    ),
    "paper": MAIN_SIZES["paper"]._replace(test_steps=(2_000, 5_000, 10_000, 20_000, 50_000)),
}
"""Whether the gain goes on rising with training."""

MAP_SIZES: dict[Scale, Size] = {
    "quick": Size(2, 400, 32, 2**8, 2**9, 2**16),
    "laptop": Size(4, 2_000, 128, 2**12, 2**11, 2**19),
    "paper": MAIN_SIZES["paper"],
}
"""More settings, so fewer steps. Ours."""


def plan(
    size: Size, tasks: tuple[str, ...] = tuple(TASKS), variants: tuple[str, ...] = MAIN
) -> dict[str, PlannedRun]:
    """The runs of some variants on some tasks, paired by seed."""
    return {
        label(task, variant): _planned(task, variant, size)
        for task in tasks
        for variant in variants
    }


def label(task: str, variant: str) -> str:
    """The label of a run."""
    return f"{task}-{variant}"


def _planned(task: str, name: str, size: Size) -> PlannedRun:
    lengths: tuple[int, ...] = TASKS[task].defaults["test_lengths"]
    recipe = recipe_for(
        TASKS[task],
        SetReaderModel(width=size.width, remedies=VARIANTS[name].remedies),
        steps=size.steps,
        test_lengths=tuple(length for length in lengths if length <= size.longest),
        test_inputs=size.test_inputs,
        test_items=size.test_items,
        test_steps=size.test_steps,
        # The adaptive temperature is for an ordinary model that was trained without it.
        test_remedies=("adaptive",) if (task, name) == ("argmax", BASELINE) else (),
    )
    plain = default_hyperparameters(TASKS[task])
    seeds = range(size.first_seed, size.first_seed + size.seeds)
    return PlannedRun(recipe, tuple(replace(plain, seed=seed) for seed in seeds), size.fleets)
