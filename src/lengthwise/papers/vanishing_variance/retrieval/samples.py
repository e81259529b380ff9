"""What single models do with sets of many sizes: the samples behind figures 2 and 4."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lengthwise.claims import Claim, Drawing, Experiment, Finding, Results, once
from lengthwise.measures.sets import LARGEST_WEIGHTS, read_sets
from lengthwise.models import SetReader
from lengthwise.papers.vanishing_variance import ARXIV
from lengthwise.papers.vanishing_variance.retrieval import plan as runs
from lengthwise.papers.vanishing_variance.retrieval import readings as read
from lengthwise.papers.vanishing_variance.retrieval import section as shown
from lengthwise.report.style import Figure
from lengthwise.runs import RunFolder
from lengthwise.runs.models import load_trainer
from lengthwise.tasks import SetTask

COMPARED = (runs.BASELINE, runs.NORM)

FEATURES = 5
"""How many features figure 2 shows: the first ones."""

EXAMPLES = 32
"""Examples that figure 4 shows."""

SAMPLES = 512
"""Sets per length behind figure 2. Ours."""

SHIFT = {
    task: Experiment(
        f"retrieval-shift-{task}",
        lambda scale, task=task: runs.plan(runs.MAIN_SIZES[scale], (task,), COMPARED),  # type: ignore[misc]
        shown.section(f"What attention gives out as sets grow: {runs.TITLES[task]}", [task]),
        shared_runs=runs.SHARED_RUNS,
        looks=lambda scale: runs.LOOKS[scale],
    )
    for task in runs.TASKS
}
"""Baseline and LayerNorm, by task."""


def claim_per_task(
    figure: str,
    sentence: str,
    evidence: Callable[[Results, str], Sequence[Finding]],
    draw: Callable[[Results, str], Figure],
    caption: str,
    alt: str,
    place: int,
) -> list[Claim]:
    """What a figure claims, for each task on its own: it may hold on one and fail on the other."""

    def claim(task: str, place: int) -> Claim:
        name = figure if task == "argmax" else f"{figure}-{task}"
        words = {"task": runs.TITLES[task]}
        return Claim(
            name=f"vanishing-variance/{name}",
            sentence=sentence.format(**words),
            source=f"{ARXIV}, {figure.replace('-', ' ')}",
            experiment=SHIFT[task],
            evidence=lambda results: evidence(results, task),
            drawings=(
                Drawing(
                    name,
                    lambda results: draw(results, task),
                    caption.format(**words),
                    alt.format(**words),
                ),
            ),
            place=place,
        )

    return [claim(task, place + number) for number, task in enumerate(runs.TASKS)]


@once
def samples(results: Results, task: str, variant: str) -> dict[int, tuple[Tensor, Tensor]]:
    """What the model of the first seed makes of sets of every length.

    Features that the answer is made of, `(SAMPLES, FEATURES)`, and the largest weights of some
    examples, `(EXAMPLES, 16)`.
    """
    run = RunFolder.open(results.folders(runs.label(task, variant))[0])
    recipe, model = run.recipe, load_trainer(run).fleet.model(0)
    assert isinstance(model, SetReader)
    assert isinstance(recipe.task, SetTask)
    found = {}
    for length in recipe.test_lengths:
        batches = read_sets([model], recipe.task, length, SAMPLES, recipe.test_seed)
        read_by_model = [one for _, readers in batches for one in readers]
        outputs = torch.cat([one.after_norm for one in read_by_model])
        largest = [one.weights.topk(LARGEST_WEIGHTS, -1).values.mean(-2) for one in read_by_model]
        found[length] = outputs[:, :FEATURES], torch.cat(largest)[:EXAMPLES]
    return found


def shown_lengths(results: Results, most: int) -> list[int]:
    """At most `most` of the lengths, evenly spread, the first and the last among them."""
    lengths = read.lengths(results)
    count = min(most, len(lengths))
    places = [round(place * (len(lengths) - 1) / max(1, count - 1)) for place in range(count)]
    return [lengths[place] for place in places]
