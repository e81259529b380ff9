"""What a worker does: train a fleet, measure it on the way, give the records of its cells back."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from lengthwise.comparing.cells import Job
from lengthwise.comparing.records import records_file
from lengthwise.runs import Recipe
from lengthwise.runs.table import all_weights
from lengthwise.training import Trainer

POINTS = 4
"""At so many evenly spaced steps models are measured: more training can worsen extrapolation."""

COST_ROUNDS = 9
"""Steps of the entry and of the baseline that are timed in turn; the median counts. Ours."""

PART_ON_THE_WAY = 4
"""On the way, so much less is tested than at the end. Ours."""

LEFT_OUT = ("displacement", "argmax_illegal")
"""Measures that are not kept: one is no score, the other is 1 - accuracy."""


class Value(NamedTuple):
    """One measure of one model."""

    weights: str
    step: int
    length: int
    measure: str
    value: float


@dataclass(frozen=True)
class Work:
    """The work of a comparison: see `lengthwise.executors.Work`."""

    def do(self, job: Job, stop: Callable[[], bool] = lambda: False) -> bytes:
        """Train and measure the models of a job; the content of the file of their records."""
        began = time.monotonic()
        trainer = job.recipe.trainer(job.hyperparameters)
        marks = {round(job.recipe.steps * point / POINTS) for point in range(1, POINTS + 1)}
        found: list[list[Value]] = [[] for _ in job.hyperparameters]

        def after_step(trainer: Trainer) -> None:
            if stop():
                raise _GivenUp
            if trainer.steps_done in marks:
                measured(job, trainer, found, over=trainer.steps_done == trainer.steps)

        try:
            trainer.run(after_step)
        except _GivenUp:
            return b""
        seconds = time.monotonic() - began
        return records_file(job, trainer, found, seconds, cost(job))


def cost(job: Job) -> float:
    """The time of a training step over the baseline's, both measured now and in turn."""
    own = job.recipe, job.hyperparameters
    others = job.baseline, job.baseline_hyperparameters
    if own == others:
        return 1.0
    both = [recipe.trainer(hyperparameters) for recipe, hyperparameters in (own, others)]
    ratios = []
    for number in range(COST_ROUNDS + 2):
        times = []
        for trainer in both:
            began = time.perf_counter()
            trainer.step()
            times.append(time.perf_counter() - began)
        if number >= 2:  # the first steps find their memory
            ratios.append(times[0] / times[1])
    return statistics.median(ratios)


def measured(job: Job, trainer: Trainer, found: list[list[Value]], *, over: bool) -> None:
    """Measure all models with the weights they have; when it is over, with their averages as well.

    Args:
        job: What is trained.
        trainer: Where it stands.
        found: Takes the values, a list for every model.
        over: Whether training is over. On the way less is measured.
    """
    recipe = job.recipe if over else _tested_less(job.recipe)
    suffix = "".join(f"_{name}" for name in job.recipe.test_remedies)
    for weights in all_weights(trainer):
        if weights.kind != "raw" and not over:
            break
        for one in recipe.measure(trainer.fleet, weights.values):
            if suffix and not one.measure.endswith(suffix):
                continue  # its tests are those with the remedy
            measure = one.measure.removesuffix(suffix)
            if measure in LEFT_OUT:
                continue
            for values, value in zip(found, one.values.tolist(), strict=True):
                step = trainer.steps_done
                values.append(Value(weights.kind, step, one.length, measure, value))


def _tested_less(recipe: Recipe) -> Recipe:
    items = recipe.test_items and max(1, recipe.test_items // PART_ON_THE_WAY)
    inputs = max(1, recipe.test_inputs // PART_ON_THE_WAY)
    return dataclasses.replace(recipe, test_inputs=inputs, test_items=items)


class _GivenUp(Exception):  # noqa: N818 - being stopped is no error
    pass
