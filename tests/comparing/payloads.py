"""Studies that nobody ran: what the page is made from, with all that may go wrong in it."""

import math
import random
from typing import Any

MULTIPLES = [1, 1.5, 2, 4, 8]
STEPS = [750, 1500, 2250, 3000]
RATES = [0.001, 0.003]
HOSTILE = "</script><script>window.broken = 1</script>"
QUOTES = "a\"b'c&amp;<img src=x onerror=window.broken=1>"
PARTS = (
    "rotary", "none", "alibi", "fire", "kerple", "t5", "randomized", "abacus", "layernorm",
    "dropout", "entmax", "scalable", "stick-breaking", "differential", "cope", "ema",
)  # fmt: skip
TASKS = (
    ("unique-copy", "C-RASP and RASP-L"), ("repeat-copy", "C-RASP and RASP-L"),
    ("sort", "C-RASP and RASP-L"), ("parity", "Chomsky"), ("majority", "Counting"),
    ("addition-reversed", "Arithmetic"), ("associative-recall", "Recall"), ("tomita-4", "Chomsky"),
)  # fmt: skip
TEXT = """A bias that falls with the distance, in every head by a slope of its own:

    b(i, j) = -m_h (i - j),   m_h = 2^(-8 h / H)

Nothing is learned. See `rotary` for what it replaces."""


def payload(remedies: int = 16, tasks: int = 8, seeds: int = 4) -> dict[str, Any]:
    """A study of that size in which later remedies reach further."""
    names = [_remedy(place) for place in range(remedies)]
    chosen = [_task(place) for place in range(tasks)]
    cells = [_cell(place, name, task, seeds) for place, name in enumerate(names) for task in chosen]
    base = {cell["task"]: cell["scores"] for cell in cells if cell["remedy"] == "rotary"}
    for cell in cells:
        if cell["remedy"] != "rotary":
            cell["differences"] = _minus(cell["scores"], base[cell["task"]])
    summaries = [_summary(place, name, cells, tasks, seeds) for place, name in enumerate(names)]
    summaries.sort(key=lambda one: -one["reach"]["mean"])
    for rank, one in enumerate(summaries, 1):
        one["rank"] = [max(1, rank - 1), min(remedies, rank + 1)]
    return {
        "title": "What mends length failure",
        "baseline": "rotary",
        "scale": "laptop",
        "made": {
            "command": "lengthwise compare --scale laptop --out docs/results/compare",
            "versions": ["lengthwise 0.2.0, torch 2.13.0, commit 0123456789ab"],
            "done": remedies * tasks * seeds * 2 - 2,
            "planned": remedies * tasks * seeds * 2,
            "missing": ["fire on sort: 2 of 4 seeds"],
        },
        "rules": [
            "A cell is a remedy, a task, a model, a learning rate and a seed.",
            "All remedies of a seed see the same data in the same order.",
            "A rank is given only where intervals separate.",
        ],
        "multiples": MULTIPLES,
        "tasks": chosen,
        "models": ["gpt: 2 layers, 4 heads, width 64"],
        "remedies": summaries,
        "cells": cells,
    }


def hostile() -> dict[str, Any]:
    """A small study with names that are markup, nulls, a task nobody learned, cells not done."""
    study = payload(6, 3, 4)
    for old, new in (("alibi", HOSTILE), ("rotary+fire", QUOTES)):
        one = next(one for one in study["remedies"] if one["name"] == old)
        one["name"] = new
        one["parts"][-1] |= {"name": new, "text": new, "summary": new, "arxiv": new}
        for cell in study["cells"]:
            if cell["remedy"] == old:
                cell |= {"remedy": new, "command": f"lengthwise train --remedies '{new}'"}
    study["title"] = f"Hostile {HOSTILE}"
    study["rules"].append(QUOTES)
    unlearned = study["tasks"][2]
    unlearned |= {"learned": False, "family": HOSTILE, "summary": QUOTES}
    by_name = {one["name"]: one for one in study["remedies"]}
    by_name[HOSTILE] |= {"reach": None, "reach_fixed": None, "ratio": None, "rank": None}
    by_name[HOSTILE] |= {"cost": None, "parameters": None, "more_parameters": None}
    by_name["kerple"]["reach"] |= {"low": None, "high": None, "count": 1}
    by_name["t5"]["reach"] |= {"high": None}
    by_name["none"]["reach"]["mean"] = math.nan
    for cell in study["cells"]:
        if cell["task"] == unlearned["name"]:
            cell |= {"verdict": "not learned", "reach": None, "ratio": None, "learned": [0, 4]}
        if cell["remedy"] == HOSTILE:
            cell |= {"verdict": "not done", "learned": [0, 0], "reach": None, "ratio": None}
            cell |= {"scores": {}, "differences": None, "seeds": [], "rates": [], "curve": None}
    broken = study["cells"][4]
    broken["scores"]["exact_match"] = {"mean": [0.9, None, 0.5, None, 0.0], "low": [None] * 5,
                                       "high": [None] * 5}  # fmt: skip
    broken["seeds"][1] |= {"learned": False}
    broken["seeds"][0] |= {"break": None, "scores": {"exact_match": [None] * 5}}
    broken["curve"]["scores"][1] = [None] * 5
    return study


def _remedy(place: int) -> str:
    first = PARTS[place % len(PARTS)]
    again = f"-{place // len(PARTS)}" if place >= len(PARTS) else ""
    return (f"rotary+{first}" if place in (3, 8, 9, 15) else first) + again


def _task(place: int) -> dict[str, Any]:
    name, family = TASKS[place % len(TASKS)]
    again = f"-{place // len(TASKS)}" if place >= len(TASKS) else ""
    lengths = [round(12 * multiple) for multiple in MULTIPLES]
    measures = ["tvd", "illegal_mass"] if name == "tomita-4" else ["exact_match", "accuracy"]
    return {
        "name": name + again, "family": family, "summary": f"{name.capitalize()} of symbols.",
        "score": measures[0], "measures": measures, "gate": 0.9, "unit": "symbols",
        "train_length": 12, "lengths": lengths, "learned": True,
        "chance": {one: [0.5 / length for length in lengths] for one in measures},
        "length_only": {one: [2 / length for length in lengths] for one in measures},
    }  # fmt: skip


def _cell(place: int, name: str, task: dict[str, Any], seeds: int) -> dict[str, Any]:
    draw = random.Random(f"{name} on {task['name']}")
    half = 12 * (1.3 if name == "rotary" else 0.95 + 0.3 * (place % 16) * draw.random())
    each = []
    for seed in range(1, seeds + 1):
        middle = half * draw.uniform(0.85, 1.15)
        curve = [1 / (1 + (length / middle) ** 4) for length in task["lengths"]]
        scores = {
            one: [_directed(one, value ** (0.5 if rank else 1)) for value in curve]
            for rank, one in enumerate(task["measures"])
        }
        each.append({"seed": seed, "learning_rate": RATES[seed % 2], "learned": True,
                     "break": None if middle > 60 else middle * 0.8, "scores": scores})  # fmt: skip
    reach = half * 0.8 / 12
    ratio = reach / 1.05
    verdict = "helps" if ratio > 1.2 else "harms" if ratio < 0.9 else "unclear"
    base = name == "rotary"
    steps = [
        [_directed(task["score"], (place + 1) / (place + 3) / multiple) for multiple in MULTIPLES]
        for place in range(len(STEPS))
    ]
    return {
        "remedy": name, "task": task["name"], "verdict": "baseline" if base else verdict,
        "learned": [seeds, seeds], "reach": _estimate(reach, seeds),
        "ratio": None if base else _estimate(ratio, seeds) | {"p": 0.01 + draw.random() / 10},
        "scores": _bands(each), "differences": None,
        "seeds": each, "curve": {"steps": STEPS, "scores": steps},
        "rates": [{"learning_rate": r, "in_range": 0.98, "learned": [seeds, seeds]} for r in RATES],
        "command": f"lengthwise train {task['name']} --model gpt --remedies "
                   f"{' '.join(name.split('+'))} --max-train-length 12 --seeds 1-{seeds}",
    }  # fmt: skip


def _directed(measure: str, value: float) -> float:
    return 1 - value if measure in ("tvd", "illegal_mass") else value


def _bands(each: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    bands = {}
    for measure in each[0]["scores"]:
        columns = list(zip(*(one["scores"][measure] for one in each), strict=True))
        means = [sum(column) / len(column) for column in columns]
        bands[measure] = {
            "mean": means,
            "low": [min(column) - 0.02 for column in columns],
            "high": [max(column) + 0.02 for column in columns],
        }
    return bands


def _minus(scores: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    return {
        measure: {
            key: [one - other for one, other in zip(row, base[measure]["mean"], strict=True)]
            for key, row in rows.items()
        }
        for measure, rows in scores.items()
    }


def _summary(
    place: int, name: str, cells: list[dict[str, Any]], tasks: int, seeds: int
) -> dict[str, Any]:
    own = [cell for cell in cells if cell["remedy"] == name]
    reach = math.exp(sum(math.log(cell["reach"]["mean"]) for cell in own) / len(own))
    base = name == "rotary"
    return {
        "name": name, "baseline": base,
        "parts": [
            {"name": part, "kind": "positions", "summary": f"{part} in one sentence.",
             "text": TEXT, "arxiv": "2108.12409"}
            for part in name.split("+")
        ],
        "model": "gpt: 2 layers, 4 heads, width 64", "parameters": 99000 + 64 * place,
        "more_parameters": 64 * place,
        "cost": {"mean": 1 + 0.03 * place, "low": 0.98 + 0.03 * place, "high": 1.02 + 0.03 * place},
        "learned": [tasks * seeds - place % 3, tasks * seeds],
        "reach": _estimate(reach, seeds), "reach_fixed": _estimate(reach * 0.93, seeds),
        "ratio": None if base else _estimate(reach / 1.05, seeds) | {"p": 0.004 * (place + 1)},
        "rank": None,
        "helps": [cell["task"] for cell in own if cell["verdict"] == "helps"],
        "harms": [cell["task"] for cell in own if cell["verdict"] == "harms"],
    }  # fmt: skip


def _estimate(mean: float, count: int) -> dict[str, Any]:
    return {"mean": mean, "low": mean * 0.88, "high": mean * 1.15, "count": count}
