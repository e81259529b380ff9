"""What single models do with sets of many sizes: the samples behind figures 2 and 4."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from lengthwise.claims import Claim, Experiment, Finding, Picture, Results
from lengthwise.measures.retrieval import LARGEST_WEIGHTS, read_sets
from lengthwise.papers.vanishing_variance import retrieval_readings as read
from lengthwise.papers.vanishing_variance import retrieval_section as shown
from lengthwise.papers.vanishing_variance.retrieval import (
    BASELINE,
    MAIN_SIZES,
    NORM,
    SHELF,
    TASKS,
    TITLES,
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

SHIFT = {
    task: Experiment(
        f"retrieval-shift-{task}",
        lambda scale, task=task: plan(MAIN_SIZES[scale], (task,), COMPARED),  # type: ignore[misc]
        shown.section(f"What attention gives out as sets grow: {TITLES[task]}", [task]),
        shelf=SHELF,
    )
    for task in TASKS
}
"""Baseline and LayerNorm, by task."""


def claim_per_task(
    figure: str,
    sentence: str,
    evidence: Callable[[Results, str], Sequence[Finding]],
    pictures: Callable[[Results, str], Sequence[Picture]],
) -> tuple[Claim, ...]:
    """What a figure claims, for each task on its own: it may hold on one and fail on the other."""
    return tuple(
        Claim(
            name=f"vanishing-variance/{figure}{'' if task == 'argmax' else f'-{task}'}",
            sentence=sentence.format(task=TITLES[task]),
            source=f"arXiv 2504.02827, {figure.replace('-', ' ')}",
            experiment=SHIFT[task],
            evidence=lambda results, task=task: evidence(results, task),  # type: ignore[misc]
            pictures=lambda results, task=task: pictures(results, task),  # type: ignore[misc]
        )
        for task in TASKS
    )


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
