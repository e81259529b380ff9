"""A trial's record: what it was, and every measure of every set of its weights at every length.

Two pieces of JSON, the trial and the layout of its readings, with their lengths before them; then
the readings as float32. Trials that were measured alike have the same layout, byte for byte.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from lengthwise.runs.table import Weights, all_weights
from lengthwise.search.space import Trial
from lengthwise.training import Trainer

_LENGTHS = struct.Struct("<II")

BLOCK = 2048
"""Records that are decoded at once."""

Buffer: TypeAlias = bytes | memoryview
"""A record, or a part of one: a view where it was read from a file."""


@dataclass(frozen=True)
class Layout:
    """Which reading is which."""

    measures: tuple[str, ...]
    lengths: tuple[int, ...]
    weights: tuple[tuple[str, float | None, float | None], ...]
    """Kind, EMA power and bias power."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of one trial's readings."""
        return len(self.weights), len(self.lengths), len(self.measures)


def records(trainer: Trainer, trials: Sequence[Trial]) -> list[bytes]:
    """Measure a trained fleet with all its weights; one record per trial."""
    recipe, members = trials[0].recipe, [trial.member for trial in trials]
    kinds, columns = [], []
    for weights in all_weights(trainer, members):
        readings = list(recipe.measure(trainer, weights.values))
        kinds.append(weights)
        columns.append(np.stack([reading.values.numpy(force=True) for reading in readings]))
    lengths = tuple(dict.fromkeys(reading.length for reading in readings))
    measures = tuple(dict.fromkeys(reading.measure for reading in readings))
    order = [(reading.length, reading.measure) for reading in readings]
    if order != [(length, measure) for length in lengths for measure in measures]:
        raise ValueError(f"{recipe.name}: expected every measure at every length, in order")
    if list(lengths) != sorted(lengths):
        raise ValueError(f"{recipe.name}: expected lengths that ascend, not {lengths}")
    found = np.stack(columns).astype("<f4")
    diverged = trainer.diverged.tolist()
    encoded = []
    for place, trial in enumerate(trials):
        header = {
            "trial": trial.number,
            "factor": trial.factor,
            "values": dict(trial.values),
            "train_length": recipe.train_length,
            "diverged": diverged[place] if diverged[place] >= 0 else None,
        }
        layout = Layout(measures, lengths, tuple(_weights(kind, place) for kind in kinds))
        encoded.append(encode(header, layout, found[..., place]))
    return encoded


def encode(header: dict[str, Any], layout: Layout, readings: np.ndarray) -> bytes:
    """A record as bytes; `readings` hold weights, lengths and measures in that order."""
    trial, described = (
        json.dumps(part, separators=(",", ":")).encode() for part in (header, vars(layout))
    )
    return _LENGTHS.pack(len(trial), len(described)) + trial + described + readings.tobytes()


def trial_number(record: Buffer) -> int:
    """Which trial a record is of."""
    return int(json.loads(bytes(_parts(record)[0]))["trial"])


@dataclass(frozen=True)
class Decoded:
    """Records that share a layout."""

    headers: list[Buffer]
    """What says which trial it is, as JSON."""
    layout: Layout
    readings: np.ndarray
    """`(trials, weights, lengths, measures)`, float32."""

    @property
    def trials(self) -> list[dict[str, Any]]:
        """The headers, read."""
        return [json.loads(bytes(header)) for header in self.headers]


def decode(encoded: Sequence[Buffer]) -> Iterator[Decoded]:
    """All records, those of one layout together, in blocks that are easy on the memory."""
    for start in range(0, len(encoded), BLOCK):
        groups: dict[bytes, tuple[list[Buffer], list[Buffer]]] = {}
        for record in encoded[start : start + BLOCK]:
            header, described, values = _parts(record)
            group = groups.setdefault(bytes(described), ([], []))
            group[0].append(header)
            group[1].append(values)
        for described, (headers, parts) in groups.items():
            layout = _layout(described)
            readings = np.frombuffer(b"".join(parts), "<f4").reshape(-1, *layout.shape)
            yield Decoded(headers, layout, readings)


@cache
def _layout(described: bytes) -> Layout:
    fields = json.loads(described)
    weights = tuple(tuple(one) for one in fields["weights"])
    return Layout(tuple(fields["measures"]), tuple(fields["lengths"]), weights)


def _parts(record: Buffer) -> tuple[Buffer, Buffer, Buffer]:
    trial, layout = _LENGTHS.unpack_from(record)
    start = _LENGTHS.size
    return (
        record[start : start + trial],
        record[start + trial : start + trial + layout],
        record[start + trial + layout :],
    )


def _weights(kind: Weights, place: int) -> tuple[str, float | None, float | None]:
    ema, bias = (
        None if powers is None else powers[place] for powers in (kind.ema_powers, kind.bias_powers)
    )
    return kind.kind, ema, bias
