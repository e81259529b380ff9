"""Measures: numbers per answer, and their means over the lengths of a task."""

from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor

from lengthwise.measures.baselines import Baseline, baselines
from lengthwise.measures.by_length import Measurement, measure_by_length, require_lengths
from lengthwise.measures.distribution import MEASURES
from lengthwise.measures.sets import measure_sets
from lengthwise.models import SetReader
from lengthwise.tasks import SetTask, Task
from lengthwise.training import Fleet

__all__ = [
    "MEASURES",
    "Baseline",
    "Measurement",
    "baselines",
    "measure",
    "measure_by_length",
    "measure_sets",
]


def measure(
    fleet: Fleet,
    task: Task,
    lengths: Sequence[int] | None = None,
    *,
    inputs: int | Mapping[int, int] = 2048,
    seed: int = 0,
    weights: Tensor | None = None,
) -> Iterator[Measurement]:
    """Measure all models of a fleet at some lengths: TVD, accuracy, exact match and more.

    Set readers are measured by `measure_sets`, which reads sets of any size in bounded memory and
    says what attention does; all other models by `measure_by_length`.

    Args:
        fleet: The models.
        task: What to measure them on.
        lengths: At which lengths (default: all that the task has).
        inputs: How many inputs per length, or how many at each.
        seed: Seed of the inputs, which are the same for every model.
        weights: Other weights than the fleet's own, such as an average.

    Raises:
        InputError: A length is none of the task's, or there are too many to measure all.
    """
    reader = fleet.template
    # Sets are read in parts without forming keys; a remedy that treats keys is read as a whole.
    in_parts = isinstance(reader, SetReader) and not reader.attention.acts("queries_keys")
    if isinstance(task, SetTask) and in_parts and not task.numbers:
        lengths = require_lengths(task, lengths)
        if not isinstance(inputs, Mapping):
            inputs = dict.fromkeys(lengths, inputs)
        models: list[SetReader] = fleet.models(weights)  # type: ignore[assignment]
        return measure_sets(models, task, {length: inputs[length] for length in lengths}, seed)
    return measure_by_length(fleet, task, lengths, inputs=inputs, seed=seed, weights=weights)
