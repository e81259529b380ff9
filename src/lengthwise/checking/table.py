"""Behaviour as rows of a table: value and interval of each measure at each place."""

import itertools

import numpy as np
import polars
from torch import Tensor

from lengthwise.checking.behaviour import Behaviour
from lengthwise.checking.needles import DEPTHS
from lengthwise.claims.statistics import estimate

BUCKETS = 8
"""Into so many parts positions and distances are divided. Ours."""


def behaviour_rows(what_if: str, length: int, one: Behaviour) -> polars.DataFrame:
    """Rows with the columns `what_if`, `length`, `measure`, `at`, `value`, `low`, `high`, `over`.

    `at` is a position, a distance or a depth where a measure has one; `low` and `high` are 95 %
    (Student's t over documents or sequences); `over` says how many those are.
    """
    rows: list[tuple[str, float | None, Tensor]] = [
        ("loss", None, one.document_loss),
        ("copy_accuracy", None, one.copied.double().mean(1)),
        ("fresh_accuracy", None, one.fresh.double().mean(1)),
        ("copy_gain", None, one.copy_gain),
    ]
    rows += [("loss_by_position", at, values) for at, values in by_position(one)]
    rows += [("shuffled_accuracy_by_distance", at, values) for at, values in by_distance(one)]
    if len(one.needle_rank):
        rows.append(("needles_found", None, one.found))
        for place, depth in enumerate(DEPTHS):
            likely = one.needle_log_probability[:, place].double()
            rows.append(("needle_log_probability", depth, likely))
            rows.append(("needle_rank", depth, one.needle_rank[:, place].double()))
    rows.append(("seconds", None, one.seconds.double().reshape(1)))
    return polars.DataFrame(
        [(what_if, length, measure, at, *_estimated(values)) for measure, at, values in rows],
        schema={
            "what_if": polars.String, "length": polars.Int64, "measure": polars.String,
            "at": polars.Float64, "value": polars.Float64, "low": polars.Float64,
            "high": polars.Float64, "over": polars.Int64,
        },
        orient="row",
    )  # fmt: skip


def by_position(one: Behaviour) -> list[tuple[float, Tensor]]:
    """Loss in buckets of positions: the middle of each, and the mean of each document."""
    parts = np.array_split(np.arange(len(one.positions)), min(BUCKETS, len(one.positions)))
    return [
        (float(one.positions[part].double().mean()), one.position_loss[:, part].double().mean(1))
        for part in parts
    ]


def by_distance(one: Behaviour) -> list[tuple[float, Tensor]]:
    """Accuracy out of order in buckets of distances: the middle of each, and a mean each."""
    if not len(one.shuffled):
        return []
    edges = np.linspace(0, float(one.distance.max()) + 1, BUCKETS + 1)
    found = []
    for low, high in itertools.pairwise(edges):
        inside = (one.distance >= low) & (one.distance < high)
        has = inside.any(1)
        if has.any():
            share = (one.shuffled * inside)[has].double().sum(1) / inside[has].sum(1)
            found.append((float((low + high) / 2), share))
    return found


def _estimated(values: Tensor) -> tuple[float, float | None, float | None, int]:
    found = estimate(values.tolist())
    ends = (found.low, found.high) if len(values) > 1 else (None, None)
    return found.mean, *ends, len(values)
