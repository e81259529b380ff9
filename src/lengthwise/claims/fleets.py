"""The seeds of planned runs, a fleet at a time: further seeds are further fleets.

A plan has the first fleet of each run. The fleets after it have the same models with the seeds that
follow, each in a folder of its own: LABEL, LABEL@8-15, LABEL@16-23 ... So seeds can be added to
runs that are there, nothing is trained twice, and several processes can train at once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars

from lengthwise.claims._base import PlannedRun
from lengthwise.errors import require
from lengthwise.training import Hyperparameters


def seeds_of(run: PlannedRun) -> list[int]:
    """The seeds of a fleet, in order."""
    return sorted({one.seed for one in run.hyperparameters})


def planned_seeds(run: PlannedRun, count: int | None = None, first: int | None = None) -> list[int]:
    """The seeds that are trained and read of a run.

    Args:
        run: As planned.
        count: How many instead of those that are planned.
        first: Where they begin instead of there.

    Raises:
        InputError: There would be none, or fleets would share some of their seeds.
    """
    every = [seed for fleet in fleets("", run, count, first).values() for seed in seeds_of(fleet)]
    return every[:count]


def fleets(
    label: str, run: PlannedRun, count: int | None = None, first: int | None = None
) -> dict[str, PlannedRun]:
    """The fleets that have so many seeds, by the names of their folders; the last may have more."""
    own = seeds_of(run)
    begin = own[0] if first is None else first
    span = own[-1] - own[0] + 1
    wanted = run.fleets * len(own) if count is None else count
    require(wanted >= 1, "seeds", wanted, "at least 1")
    require(
        (begin - own[0]) % span == 0, "first_seed", begin,
        f"{own[0]} or a multiple of {span} further, as fleets have {span} seeds each",
    )  # fmt: skip
    found = {}
    for place in range(math.ceil(wanted / len(own))):
        shift = begin - own[0] + place * span
        models = tuple(replace(one, seed=one.seed + shift) for one in run.hyperparameters)
        low, high = own[0] + shift, own[-1] + shift
        which = "" if shift == 0 else f"@{low}" if low == high else f"@{low}-{high}"
        found[f"{label}{which}"] = replace(run, hyperparameters=models, fleets=1)
    return found


def joined(
    parts: Sequence[PlannedRun], tables: Sequence[polars.DataFrame], seeds: Sequence[int]
) -> tuple[PlannedRun, polars.DataFrame]:
    """Fleets of one run as if they were one, with the models of these seeds, numbered anew."""
    models: list[Hyperparameters] = []
    pieces = []
    for part, table in zip(parts, tables, strict=True):
        kept = [i for i, one in enumerate(part.hyperparameters) if one.seed in seeds]
        numbers = {old: len(models) + new for new, old in enumerate(kept)}
        models += [part.hyperparameters[i] for i in kept]
        own = table.filter(polars.col("model").is_in(kept))
        number = polars.col("model").replace_strict(numbers, return_dtype=polars.Int64)
        pieces.append(own.with_columns(number))
    return replace(parts[0], hyperparameters=tuple(models), fleets=1), polars.concat(pieces)


def whole(plan: Mapping[str, PlannedRun], count: int | None = None) -> dict[str, PlannedRun]:
    """A plan with all models of each run, as results have it.

    Args:
        plan: The runs of an experiment by label.
        count: How many seeds each shall have; None is as many as planned.
    """
    found = {}
    for label, run in plan.items():
        seeds = planned_seeds(run, count)
        parts = fleets(label, run, count).values()
        models = (one for part in parts for one in part.hyperparameters if one.seed in seeds)
        found[label] = replace(run, hyperparameters=tuple(models), fleets=1)
    return found
