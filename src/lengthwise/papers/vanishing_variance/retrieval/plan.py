"""The runs behind the claims on argmax retrieval and dictionary lookup."""

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
    steps: int
    width: int
    longest: int
    test_inputs: int
    test_items: int


MAIN_SIZES: dict[Scale, Size] = {
    "quick": Size(3, 600, 64, 2**8, 2**9, 2**16),
    "laptop": Size(5, 20_000, 128, 2**14, 2**13, 2**23),
    "paper": Size(10, 100_000, 128, 2**14, 2**15, 2**29),
}
"""Width, batch, learning rate, weight decay and the paper scale's steps and seeds are those of
arXiv 2410.01104, which the paper builds on. The rest is ours."""

ABLATION_SIZES: dict[Scale, Size] = {
    "quick": Size(2, 400, 32, 2**8, 2**9, 2**16),
    "laptop": Size(4, 2_000, 128, 2**12, 2**11, 2**19),
    "paper": MAIN_SIZES["paper"],
}
"""More variants, so fewer steps. Ours."""


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
        # The adaptive temperature is for an ordinary model that was trained without it.
        test_remedies=("adaptive",) if (task, name) == ("argmax", BASELINE) else (),
    )
    plain = default_hyperparameters(TASKS[task])
    return PlannedRun(recipe, tuple(replace(plain, seed=seed) for seed in range(size.seeds)))
