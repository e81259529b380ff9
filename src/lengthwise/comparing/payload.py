"""A study as plain values: what the page shows, and what the tables beside it hold."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from lengthwise.claims.statistics import Estimate, estimate
from lengthwise.comparing.baselines import Levels, level
from lengthwise.comparing.entries import Entry
from lengthwise.comparing.plans import Plan
from lengthwise.comparing.readings import CellReading, Difference, Reading
from lengthwise.comparing.rules import rules
from lengthwise.comparing.scores import MULTIPLES, ONE_MINUS
from lengthwise.comparing.study import Study
from lengthwise.comparing.tables import TaskTable
from lengthwise.families import family_of
from lengthwise.models import Model
from lengthwise.registry import MODELS, TASKS
from lengthwise.remedies._catalogue import describe

SHOWN = ("exact_match", "exact_match_length_given", "accuracy", "expected_accuracy", "tvd",
         "illegal_mass")  # fmt: skip
"""Measures that the page shows, as far as a task has them."""

MOST_SEEDS = 32
"""More seeds than that are not drawn one by one."""


def payload(reading: Reading, known: dict[str, Levels], made: dict[str, Any]) -> dict[str, Any]:
    """Everything the page needs.

    Args:
        reading: The study, read by its rules.
        known: Chance and length-only, by task.
        made: Where the numbers come from: command, versions, how many models are done.
    """
    study = reading.study
    places = range(len(study.entries))
    return {
        "title": "What mends length failure",
        "baseline": study.baseline.name,
        "scale": study.scale,
        "made": made,
        "rules": rules(study),
        "multiples": list(MULTIPLES),
        "models": [model_words(study.model)],
        "tasks": [
            _task(table, known[table.plan.name], learned) | {"counted": counted}
            for table, learned, counted in zip(
                reading.tables, reading.learned, reading.counted, strict=True
            )
        ],
        "remedies": [_remedy(reading, place) for place in places],
        "cells": [
            _cell(reading, number, place)
            for place in places
            for number in range(len(reading.tables))
        ],
    }


def measures_of(table: TaskTable) -> list[str]:
    """The score of a task first, then its other measures that are shown."""
    base = table.plan.score.removeprefix(ONE_MINUS)
    others = [name for name in SHOWN if name in table.values and name != base]
    return [table.plan.score, *others]


def model_words(model: Model) -> str:
    """A model's fields in words, but for its remedies."""
    told = [
        f"{one.name} {getattr(model, one.name)}" for one in fields(model) if one.name != "remedies"
    ]
    return f"{model.name}: {', '.join(told)}"


def command_of(entry: Entry, plan: Plan, rate: float, seed: int, shared: Any) -> str:
    """The command that trains one model of an entry by itself, and measures it."""
    recipe = entry.recipe(plan.recipe)
    words = ["lengthwise", "train", TASKS.key_of(type(recipe.task)).partition("@")[0]]
    kind = MODELS.key_of(type(recipe.model)).partition("@")[0]
    options: dict[str, Any] = {"model": kind}
    for part in (recipe.task, recipe.model):
        default = type(part)()
        options |= {
            one.name: getattr(part, one.name)
            for one in fields(part)  # type: ignore[arg-type]
            if getattr(part, one.name) != getattr(default, one.name)
        }
    for name in ("max_train_length", "min_train_length", "batch", "steps", "test_lengths",
                 "test_inputs", "test_items", "test_remedies"):  # fmt: skip
        if getattr(recipe, name) not in (None, ()):
            options[name] = getattr(recipe, name)
    own = shared | dict(entry.hyperparameters)
    options |= own | {"learning_rate": rate, "seeds": 1, "first_seed": seed}
    for name, value in options.items():
        many = value if isinstance(value, tuple | list) else (value,)
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif many:
            words += [f"--{name.replace('_', '-')}", *(_word(one) for one in many)]
    return shlex.join(words)


def _word(value: Any) -> str:
    return value.partition("@")[0] if isinstance(value, str) else f"{value}"


def _task(table: TaskTable, known: Levels, learned: bool | None) -> dict[str, Any]:
    plan, task = table.plan, table.plan.recipe.task
    measures = measures_of(table)
    return {
        "name": plan.name,
        "family": family_of(task.name) if task.name in TASKS.listed() else "own",
        "summary": (type(task).__doc__ or "").strip().split("\n\n")[0].replace("\n", " "),
        "score": plan.score,
        "measures": measures,
        "gate": plan.gate,
        "unit": task.unit,
        "train_length": plan.recipe.max_train_length,
        "steps": plan.recipe.steps,
        "lengths": list(plan.recipe.test_lengths),
        "chance": {name: level(known, name, 0) for name in measures},
        "length_only": {name: level(known, name, 1) for name in measures},
        "learned": learned,
    }


def _remedy(reading: Reading, place: int) -> dict[str, Any]:
    entry, own = reading.study.entries[place], reading.entries[place]
    cells = [task[place] for task in reading.cells]
    named = [plan.name for plan in reading.study.plans]
    costs = [float(np.median(table.costs[place])) for table in reading.tables if table.costs[place]]
    counts = [table.parameters[place] for table in reading.tables]
    more = [
        count - base
        for count, base in zip(counts, (t.parameters[0] for t in reading.tables), strict=True)
        if count is not None and base is not None
    ]
    sizes = [count for count in counts if count is not None]
    return {
        "name": entry.name,
        "baseline": place == 0,
        "parts": _parts(entry),
        "summary": _summary(entry, reading.study),
        "model": model_words(entry.model),
        "chain": list(entry.model.remedies),
        "parameters": round(float(np.mean(sizes))) if sizes else None,
        "more_parameters": round(float(np.mean(more))) if more else None,
        "cost": _plain(estimate(costs, unit="tasks")) if costs else None,
        "learned": [int(sum(c.learned.sum() for c in cells)), sum(len(c.seeds) for c in cells)],
        "reach": _plain(own.reach),
        "reach_fixed": _plain(own.reach_fixed),
        "ratio": _plain_difference(own.ratio),
        "rank": list(own.rank) if own.rank else None,
        **{
            verdict: [n for n, c in zip(named, cells, strict=True) if c.verdict == verdict]
            for verdict in ("helps", "harms")
        },
    }


def _summary(entry: Entry, study: Study) -> str:
    """What an entry does beside what the baseline does, in a sentence or two."""
    own = study.baseline.model.remedies if entry is not study.baseline else ()
    added = [describe(one).summary for one in entry.model.remedies if one not in own]
    added += [f"In tests: {describe(one).summary}" for one in entry.test]
    changed = [
        f"{one.name} {getattr(entry.model, one.name)}"
        for one in fields(entry.model)
        if one.name != "remedies"
        and getattr(entry.model, one.name) != getattr(study.baseline.model, one.name)
    ]
    changed += [f"{name} {value}" for name, value in entry.hyperparameters]
    added += [f"The baseline with {', '.join(changed)}."] if changed else []
    powers = study.hyperparameters.ema_powers[0], study.hyperparameters.bias_powers[0]
    if entry.weights == "ema":
        added.append(f"An average of the weights is read: EMA of power {powers[0]:g}.")
    if entry.weights == "bema":
        added.append(
            f"An average of the weights is read: BEMA of powers {powers[0]:g} and {powers[1]:g}."
        )
    return " ".join(added)


def _parts(entry: Entry) -> list[dict[str, Any]]:
    parts = []
    for specification in (*entry.model.remedies, *entry.test):
        told = describe(specification)
        parts.append(
            {
                "name": specification.partition("@")[0] if told.name in specification
                else told.name, "kind": told.kind, "summary": told.summary, "text": told.text,
                "arxiv": told.source,
            }
        )  # fmt: skip
    return parts


def _cell(reading: Reading, number: int, place: int) -> dict[str, Any]:
    study, table = reading.study, reading.tables[number]
    cell, entry = reading.cells[number][place], study.entries[place]
    measures = measures_of(table)
    own = {name: _chosen(table, name, place, cell) for name in measures}
    base = reading.cells[number][0]
    first = int(cell.seeds[0]) + 1 if len(cell.seeds) else 1
    rate = study.rates[int(cell.rates[0])] if len(cell.seeds) else study.rates[0]
    shared = {
        name: getattr(study.hyperparameters, name)
        for name in ("weight_decay", "warmup", "final_lr_fraction")
    }
    return {
        "remedy": entry.name,
        "task": table.plan.name,
        "verdict": cell.verdict,
        "learned": [int(cell.learned.sum()), len(cell.seeds)],
        "reach": _plain(cell.reach),
        "ratio": _plain_difference(cell.ratio) if place else None,
        "scores": {name: _bands(values[cell.learned]) for name, values in own.items()},
        "differences": {
            name: _bands(_both_learned(values, _chosen(table, name, 0, base), cell, base))
            for name, values in own.items()
        }
        if place
        else None,
        "seeds": [
            {
                "seed": int(seed) + 1,
                "learning_rate": study.rates[int(cell.rates[at])],
                "learned": bool(cell.learned[at]),
                "break": cell.breaks[at],
                "scores": {name: _numbers(values[at]) for name, values in own.items()},
            }
            for at, seed in enumerate(cell.seeds[:MOST_SEEDS])
        ],
        "rates": _rates(study.rates, table, place, cell),
        "curve": _curve(table, place, cell) if entry.weights == "raw" else None,
        "command": command_of(entry, table.plan, rate, first, shared),
    }


def _chosen(table: TaskTable, measure: str, place: int, cell: CellReading) -> np.ndarray:
    """A measure of an entry at the rates that were chosen: `(seeds, lengths)`."""
    values: np.ndarray = table.measure(measure)[place][cell.seeds, cell.rates].astype(float)
    return values


def _both_learned(
    own: np.ndarray, others: np.ndarray, cell: CellReading, base: CellReading
) -> np.ndarray:
    """Differences over the seeds of which both models learned."""
    _, mine, theirs = np.intersect1d(
        cell.seeds[cell.learned], base.seeds[base.learned], return_indices=True
    )
    difference: np.ndarray = own[cell.learned][mine] - others[base.learned][theirs]
    return difference


def _rates(
    rates: Sequence[float], table: TaskTable, place: int, cell: CellReading
) -> list[dict[str, Any]]:
    in_range = table.score[place][cell.seeds][:, :, 0]
    return [
        {
            "learning_rate": rate,
            "in_range": float(in_range[:, at].mean()) if len(cell.seeds) else None,
            "learned": [int((in_range[:, at] >= table.plan.gate).sum()), len(cell.seeds)],
        }
        for at, rate in enumerate(rates)
    ]


def _curve(table: TaskTable, place: int, cell: CellReading) -> dict[str, Any] | None:
    """The score on the way: the mean over the seeds at the rates that were chosen."""
    if not len(cell.seeds):
        return None
    values = table.curve[place][cell.seeds, cell.rates].mean(0)
    return {"steps": table.steps, "scores": [_numbers(row) for row in values]}


def _bands(values: np.ndarray) -> dict[str, list[float | None]]:
    """Mean and interval at every length."""
    found = [estimate(column.tolist()) for column in values.T]
    return {
        name: _numbers([getattr(one, name) for one in found]) for name in ("mean", "low", "high")
    }


def _plain(one: Estimate | None) -> dict[str, Any] | None:
    if one is None:
        return None
    low, high = _numbers([one.low, one.high])
    return {"mean": _number(one.mean), "low": low or None, "high": high, "count": one.count}


def _plain_difference(one: Difference | None) -> dict[str, Any] | None:
    return None if one is None else {**(_plain(one.estimate) or {}), "p": _number(one.p)}


def _numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | None:
    """As many digits as a reader can use; None where there is no number."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
