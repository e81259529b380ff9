"""What single models do with sets of many sizes: the samples behind figures 2 and 4."""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from lengthwise.claims import Experiment, Results
from lengthwise.measures.retrieval import LARGEST_WEIGHTS, read_sets
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance import retrieval_section as shown
from lengthwise.papers.vanishing_variance.retrieval import (
    BASELINE,
    MAIN_SIZES,
    NORM,
    SHELF,
    TASKS,
    label,
    plan,
)
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer
from lengthwise.runs.retrieval import RetrievalRecipe, set_readers

COMPARED = (BASELINE, NORM)

FEATURES = 5
"""How many features figure 2 shows: the first ones."""

EXAMPLES = 32
"""Examples that figure 4 shows."""

SAMPLES = 512
"""Sets per length behind figure 2. Ours."""

SHIFT = Experiment(
    "retrieval-shift",
    lambda scale: plan(MAIN_SIZES[scale], variants=COMPARED),
    shown.section("What attention gives out as sets grow", list(TASKS)),
    shelf=SHELF,
)
"""Baseline and LayerNorm on both tasks."""


def features(results: Results, task: str, variant: str) -> dict[int, Tensor]:
    """Features that the answer is made of, at every length: `(samples, features)`, of seed 0."""
    return {
        length: torch.cat([output for output, _ in batches])[:, :FEATURES]
        for length, batches in _read(results.folder / label(task, variant), SAMPLES).items()
    }


def largest_weights(results: Results, task: str, variant: str) -> dict[int, Tensor]:
    """The largest weights of some examples, at every length: `(examples, 16)`, of seed 0."""
    return {
        length: torch.cat([weights for _, weights in batches])[:EXAMPLES]
        for length, batches in _read(results.folder / label(task, variant), SAMPLES).items()
    }


@cache
def _read(folder: Path, samples: int) -> dict[int, list[tuple[Tensor, Tensor]]]:
    run = RunFolder.open(folder)
    recipe = run.recipe
    assert isinstance(recipe, RetrievalRecipe)
    model = set_readers(load_trainer(run))[:1]
    return {
        length: [
            (one.after_norm, one.weights.topk(LARGEST_WEIGHTS, -1).values.mean(-2))
            for _, readers in read_sets(model, recipe.task, length, samples, recipe.test_seed)
            for one in readers
        ]
        for length in recipe.test_lengths
    }


def shown_lengths(results: Results, most: int) -> list[int]:
    """At most `most` of the lengths, evenly spread, the first and the last among them."""
    lengths = read.lengths(results)
    count = min(most, len(lengths))
    places = [round(place * (len(lengths) - 1) / max(1, count - 1)) for place in range(count)]
    return [lengths[place] for place in places]
