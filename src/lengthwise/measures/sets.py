"""Measures of set readers at any number of items, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from lengthwise.measures.attended import Moments
from lengthwise.measures.by_length import Measurement
from lengthwise.models.set_reader import ReadOut, SetReader
from lengthwise.randomness import address, at
from lengthwise.tasks import Lookup, SetTask

BATCH = 256
"""The most sets that are read at once."""

HELD_NUMBERS = 1 << 25
"""Numbers of the sets that are kept for the next model to read; longer sets are drawn again."""

CHUNK_FEATURES = 1 << 21
"""Hidden features of items that are held at once; bounds the memory like the number above."""

LARGEST_WEIGHTS = 16


@torch.no_grad()
def measure_sets(
    models: Sequence[SetReader], task: SetTask, inputs: Mapping[int, int], seed: int
) -> Iterator[Measurement]:
    """Measure models at every length of `inputs`, on as many sets as it says, the same for all.

    Attention is read over all heads alike; a measure ending in `_before` or `_after` is of the
    attention output before or after the norm.

    Args:
        models: Set readers of one shape.
        task: What to measure them on.
        inputs: How many sets at each length.
        seed: Seed of the sets.
    """
    for model in models:
        model.eval()
    stochastic = models[0].attention.stochastic
    for length, count in inputs.items():
        sums: dict[str, Tensor] = {}
        moments = {
            place: Moments(len(models), models[0].attention.query.in_features)
            for place in ("before", "after")
        }
        for lookup, readers in read_sets(models, task, length, count, seed):
            for number, read in enumerate(readers):
                for name, values in _per_set(read, lookup, stochastic).items():
                    total = sums.setdefault(name, torch.zeros(len(models), dtype=torch.float64))
                    total[number] += values.to("cpu", torch.float64).sum()
                moments["before"].add(number, read.before_norm)
                moments["after"].add(number, read.after_norm)
        readings = {name: total / count for name, total in sums.items()}
        for place, moment in moments.items():
            readings |= {f"{name}_{place}": value for name, value in moment.readings().items()}
        for name, values in readings.items():
            yield Measurement(name, length, values, count, exact=False)


@torch.no_grad()
def read_sets(
    models: Sequence[SetReader], task: SetTask, length: int, inputs: int, seed: int
) -> Iterator[tuple[Lookup, Iterator[ReadOut]]]:
    """Let every model read the same `inputs` sets of `length` items, a batch at a time."""
    weight = models[0].item_encoder.weight
    stream = torch.tensor(address(seed, "test", length), device=weight.device)
    batch = min(BATCH, max(1, HELD_NUMBERS // (length * task.item_width)))
    for number, first in enumerate(range(0, inputs, batch)):
        key, count = at(stream, number), min(batch, inputs - first)
        parts = _parts(task, key, length, count, weight)
        lookup = task.draw_lookups(key, length, count)
        yield lookup, _read_each(models, lookup.query.to(weight.dtype), length, parts)


@torch.no_grad()
def _read_each(
    models: Sequence[SetReader], query: Tensor, length: int, parts: Callable[[], Iterable[Tensor]]
) -> Iterator[ReadOut]:
    for model in models:
        yield model.read(query, length, parts)


def _parts(
    task: SetTask, key: Tensor, length: int, count: int, weight: Tensor
) -> Callable[[], Iterable[Tensor]]:
    """The items of some sets, in parts that are small enough for a model to read."""
    chunk = max(1, CHUNK_FEATURES // (count * len(weight)))
    ranges = [range(start, min(start + chunk, length)) for start in range(0, length, chunk)]

    def draw() -> Iterator[Tensor]:
        for part in ranges:
            yield task.draw_items(key, length, count, part).to(weight.dtype)

    if count * length * task.item_width > HELD_NUMBERS:
        return draw
    held = list(draw())
    return lambda: held


def _per_set(read: ReadOut, lookup: Lookup, stochastic: bool) -> dict[str, Tensor]:
    """Numbers per set, `(batch,)` or `(batch, heads)` averaged over heads."""
    measures = {"accuracy": read.logits.argmax(-1) == lookup.label}
    if not stochastic:  # entropies and shares mean nothing where weights are no probabilities
        return measures
    weights = read.weights
    right = lookup.item.unsqueeze(-1).unsqueeze(-1).expand(*weights.shape[:-1], 1)
    largest = weights.topk(min(LARGEST_WEIGHTS, weights.shape[-1]), -1).values.mean(-2)
    measures |= {
        "entropy": torch.special.entr(weights).sum(-1).mean(-1),
        "largest_weight": largest[..., 0],
        "right_weight": weights.gather(-1, right).squeeze(-1).mean(-1),
    }
    for place in range(largest.shape[-1]):
        measures[f"weight_{place + 1:02d}"] = largest[..., place]
    return measures
