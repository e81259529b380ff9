"""What a study says: learning rates chosen, models that learned, break lengths, reach.

The rules stand in docs/compare.md in words.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars

from lengthwise.claims.statistics import Estimate, estimate, p_value
from lengthwise.comparing.scores import FIXED, RELATIVE, break_length
from lengthwise.comparing.study import Study
from lengthwise.comparing.tables import TaskTable, task_table

SURE = 0.05
"""A difference is called one if its corrected p-value is below."""

SMALLEST = 1.05
"""The smallest ratio of reach that matters, either way. Ours, as in the claims."""


@dataclass(frozen=True)
class Difference:
    """A paired difference or ratio, with its p-value corrected for how many were asked for."""

    estimate: Estimate
    p: float


@dataclass(frozen=True)
class CellReading:
    """One entry on one task, over all seeds that are recorded."""

    seeds: np.ndarray
    """Places of the seeds that are recorded at every rate."""
    rates: np.ndarray
    """The place of the rate that each of them is read at: chosen on the other seeds."""
    learned: np.ndarray
    """Whether each of them learned the training length."""
    breaks: list[float | None]
    """Break lengths by the first rule; None: not up to the longest that was tested."""
    log_reach: np.ndarray
    """log(break length / training length) of each; 0 of those that did not learn."""
    log_reach_fixed: np.ndarray
    """The same by the second rule."""
    verdict: str = "unclear"
    ratio: Difference | None = None
    """Its reach over the baseline's."""

    @property
    def reach(self) -> Estimate | None:
        """Geometric mean over the seeds."""
        return estimate(self.log_reach.tolist()).exp() if len(self.seeds) else None


@dataclass(frozen=True)
class EntryReading:
    """One entry over all tasks."""

    seeds: np.ndarray
    """Places of the seeds that are recorded on every task."""
    log_reach: np.ndarray
    """Mean over the tasks, for each seed."""
    log_reach_fixed: np.ndarray
    ratio: Difference | None = None
    rank: tuple[int, int] | None = None

    @property
    def reach(self) -> Estimate | None:
        """Geometric mean over tasks and seeds; its interval is over the seeds."""
        return estimate(self.log_reach.tolist()).exp() if len(self.seeds) else None

    @property
    def reach_fixed(self) -> Estimate | None:
        """The same by the second rule."""
        return estimate(self.log_reach_fixed.tolist()).exp() if len(self.seeds) else None


@dataclass(frozen=True)
class Reading:
    """All of a study."""

    study: Study
    """What is compared."""
    tables: list[TaskTable]
    """The scores of every remedy, task by task."""
    cells: list[list[CellReading]]
    """By task, then by entry."""
    learned: list[bool | None]
    """Whether anything learned the task; one that nothing learned is said, and not ranked. None
    where nothing is recorded yet."""
    counted: list[bool]
    """Whether the task counts in reach: something learned it, and all remedies are done there."""
    entries: list[EntryReading]
    """What was found of each remedy, in the order of the study."""


def read(study: Study, records: polars.DataFrame) -> Reading:
    """Read a study by its rules.

    Args:
        study: What was asked for.
        records: What is there of it.
    """
    tables = [task_table(study, plan, records) for plan in study.plans]
    cells = []
    for table in tables:
        own = [_cell(table, place) for place in range(len(study.entries))]
        cells.append(_judged(own))
    learned = [
        any(cell.learned.any() for cell in own) if any(len(cell.seeds) for cell in own) else None
        for own in cells
    ]
    places = range(len(study.entries))
    begun = [place for place in places if any(len(own[place].seeds) for own in cells)]
    # Reach is over the same tasks for all: one that is half done would tell remedies apart.
    counted = [
        bool(known) and all(len(own[place].seeds) for place in begun)
        for own, known in zip(cells, learned, strict=True)
    ]
    kept = [own for own, counts in zip(cells, counted, strict=True) if counts]
    entries = [_entry([own[place] for own in kept]) for place in places]
    return Reading(study, tables, cells, learned, counted, _ranked(entries))


def chosen_rates(in_range: np.ndarray) -> np.ndarray:
    """For every seed the rate with the best mean score in range over the *other* seeds.

    Args:
        in_range: Scores at the training length, `(seeds, rates)`.

    Returns:
        Places of rates. Of equal ones the first counts. One seed alone chooses for itself.
    """
    if len(in_range) <= 1:
        return in_range.argmax(1)
    others = in_range.sum(0, keepdims=True) - in_range
    return np.round(others, 9).argmax(1)


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method."""
    order = np.argsort(values)
    corrected = [0.0] * len(values)
    largest = 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - place) * values[number]))
        corrected[number] = largest
    return corrected


def _cell(table: TaskTable, entry: int) -> CellReading:
    plan = table.plan
    lengths = plan.recipe.test_lengths
    seeds = np.flatnonzero(table.done[entry].all(-1))
    scores = table.score[entry][seeds]
    rates = chosen_rates(scores[:, :, 0])
    own = scores[np.arange(len(seeds)), rates].astype(float)
    learned = own[:, 0] >= plan.gate
    breaks, reaches = [], []
    for each, known in zip(own, learned, strict=True):
        found = [break_length(lengths, each, rule) for rule in (RELATIVE * each[0], FIXED)]
        breaks.append(found[0] if known else float(lengths[0]))
        ends = [length or lengths[-1] if known else lengths[0] for length in found]
        reaches.append([math.log(max(1.0, end / lengths[0])) for end in ends])
    logs = np.array(reaches).reshape(len(seeds), 2)
    return CellReading(seeds, rates, learned, breaks, logs[:, 0], logs[:, 1])


def _judged(own: list[CellReading]) -> list[CellReading]:
    """The entries of one task, each with its ratio to the first and what that means."""
    differences = _differences([(cell.seeds, cell.log_reach) for cell in own])
    judged = []
    for place, (cell, difference) in enumerate(zip(own, differences, strict=True)):
        if len(cell.seeds) == 0:
            verdict = "not done"
        elif not cell.learned.any():
            verdict = "not learned"
        elif place == 0:
            verdict = "baseline"
        elif difference is None or not difference.p < SURE:
            verdict = "unclear"
        elif difference.estimate.mean >= SMALLEST:
            verdict = "helps"
        else:
            verdict = "harms" if difference.estimate.mean <= 1 / SMALLEST else "unclear"
        judged.append(
            CellReading(
                cell.seeds, cell.rates, cell.learned, cell.breaks, cell.log_reach,
                cell.log_reach_fixed, verdict, difference,
            )
        )  # fmt: skip
    return judged


def _entry(own: list[CellReading]) -> EntryReading:
    """One entry over the tasks that something learned."""
    if not own:
        nothing = np.empty(0)
        return EntryReading(np.empty(0, int), nothing, nothing)
    seeds = own[0].seeds
    for cell in own[1:]:
        seeds = np.intersect1d(seeds, cell.seeds)
    means = [
        np.mean([getattr(cell, name)[np.isin(cell.seeds, seeds)] for cell in own], axis=0)
        for name in ("log_reach", "log_reach_fixed")
    ]
    return EntryReading(seeds, *means)


def _ranked(own: list[EntryReading]) -> list[EntryReading]:
    """Entries with their ratios to the first and the places that are not ruled out."""
    ratios = _differences([(one.seeds, one.log_reach) for one in own])
    pairs = [(a, b) for a in range(len(own)) for b in range(a) if len(own[a].seeds) > 0]
    found = []
    for a, b in pairs:
        values = _paired((own[a].seeds, own[a].log_reach), (own[b].seeds, own[b].log_reach))
        found.append((float(np.mean(values)) if len(values) else 0.0, _p(values)))
    corrected = holm([p for _, p in found])
    better = np.zeros(len(own), int)
    worse = np.zeros(len(own), int)
    for (a, b), (mean, _), p in zip(pairs, found, corrected, strict=True):
        if p < SURE:
            above, below = (a, b) if mean > 0 else (b, a)
            better[below] += 1
            worse[above] += 1
    count = sum(len(one.seeds) > 0 for one in own)
    return [
        EntryReading(
            one.seeds, one.log_reach, one.log_reach_fixed, ratio,
            (1 + int(better[place]), count - int(worse[place])) if len(one.seeds) > 1 else None,
        )
        for place, (one, ratio) in enumerate(zip(own, ratios, strict=True))
    ]  # fmt: skip


def _differences(own: list[tuple[np.ndarray, np.ndarray]]) -> list[Difference | None]:
    """Ratios to the first, paired by seed; p-values are corrected for their number."""
    if not own:
        return []
    values = [_paired(one, own[0]) for one in own[1:]]
    known = [place for place, one in enumerate(values) if len(one) > 0]
    corrected = dict(zip(known, holm([_p(values[place]) for place in known]), strict=True))
    found: list[Difference | None] = [None]
    for place, one in enumerate(values):
        made = Difference(estimate(one.tolist()).exp(), corrected[place]) if len(one) else None
        found.append(made)
    return found


def _paired(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Differences over the seeds that both have."""
    _, own, others = np.intersect1d(one[0], other[0], return_indices=True)
    difference: np.ndarray = one[1][own] - other[1][others]
    return difference


def _p(values: np.ndarray) -> float:
    """One seed proves nothing, nor do two that agree by chance: at least three are needed."""
    if len(values) < 3:
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of seeds that agree nearly exactly
        return p_value(values.tolist())
