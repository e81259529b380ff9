"""Examples of a task as a person reads them, and what can be had without reading."""

import inspect
import re
import sys
from collections.abc import Sequence
from typing import Any

import torch
from rich.table import Table
from torch import Tensor
from torch.utils._pytree import tree_leaves

from lengthwise.measures import Baseline
from lengthwise.randomness import address
from lengthwise.report.numbers import number
from lengthwise.tasks import IGNORE_INDEX, Series, SetInput, SetTask, Task, Tokens, TokenTask

FEW = 4
"""So many items or series are shown; of more, the first."""

MOST_NAMED = 4
"""So many possible answers are named; of more, it is said how many they are."""

WIDTH = 96
"""Characters of a line."""

SHOWN = ("tvd", "accuracy", "exact_match", "exact_match_length_given", "legal_set",
         "legal_set_match", "expected_accuracy", "mse", "excess_mse")  # fmt: skip
"""Measures whose baselines are shown."""


def source_of(task: Task) -> str | None:
    """The arXiv number of the paper that a task is from: the first that its file names."""
    kind = type(task)
    module = sys.modules[kind.__module__]
    for text in (inspect.getdoc(kind), module.__doc__):
        found = re.search(r"\d{4}\.\d{5}", text or "")
        if found:
            return found[0]
    return None


def example_lines(task: Task, length: int, count: int = 2, seed: int = 0) -> list[str]:
    """Examples of a length: inputs, ids, what is asked and the targets, one below the other."""
    batch = task.draw(torch.tensor(address(seed, "example", length)), length, count)
    targets = task.targets(batch.inputs)
    lines: list[str] = []
    for index in range(count):
        if index:
            lines.append("")
        inputs, labels = batch.at(index)
        lines += _example(task, inputs, labels, targets[index])
    return lines


def baseline_table(found: Sequence[Baseline]) -> Table:
    """Chance and what the length alone gives, by measure."""
    title = "Without reading the input"
    table = Table(title=title, title_justify="left", min_width=len(title))
    for column in ("measure", "chance", "length only"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for one in found:
        if one.measure in SHOWN:
            table.add_row(one.measure, number(one.chance), number(one.length_only))
    return table


def _example(task: Task, inputs: Any, labels: Tensor, targets: Tensor) -> list[str]:
    if isinstance(task, TokenTask):
        return _of_tokens(task, inputs, labels, targets)
    if isinstance(inputs, Series):
        return _of_series(inputs, labels, targets)
    if isinstance(task, SetTask) and isinstance(inputs, SetInput):
        rows = [f"item    {_numbers(item)}" for item in inputs.items[:FEW]]
        rows += _more(len(inputs.items), "items")
        rows.append(f"query   {_numbers(inputs.query)}")
    else:
        leaves = [leaf for leaf in tree_leaves(inputs) if leaf is not None]
        rows = [f"input   {_numbers(row)}" for leaf in leaves for row in leaf.flatten(1)]
    return [*rows, f"answer  {_answer(task, labels)}", f"target  {_target(task, targets)}"]


def _of_tokens(task: TokenTask, inputs: Any, labels: Tensor, targets: Tensor) -> list[str]:
    """A column for every token."""
    inputs = Tokens(inputs) if isinstance(inputs, Tensor) else inputs
    names = task.token_names
    tokens = [names[token] for token in inputs.tokens.tolist()]
    rows = {"input": tokens}
    if inputs.mask is not None:
        shown = zip(tokens, inputs.mask.tolist(), strict=True)
        rows["input"] = [token if seen else f"({token})" for token, seen in shown]
    if inputs.position_ids is not None:
        ids = inputs.position_ids
        tracks = [ids] if ids.dim() == 1 else list(ids.unbind(-1))
        for place, track in enumerate(tracks, 1):
            name = "ids" if len(tracks) == 1 else f"ids {place}"
            rows[name] = [str(one) for one in track.tolist()]
    once = labels.dim() == int(task.numbers)
    if once:
        return [*_columns(rows), f"answer  {_answer(task, labels)}",
                f"target  {_target(task, targets)}"]  # fmt: skip
    asked = (labels[..., 0] if task.numbers else labels) != IGNORE_INDEX
    rows["answer"] = [
        _answer(task, one) if now else "" for one, now in zip(labels, asked, strict=True)
    ]
    rows["target"] = [
        _target(task, one) if now else "" for one, now in zip(targets, asked, strict=True)
    ]
    if rows["answer"] == rows["target"]:
        del rows["target"]  # there is one right answer, and it is drawn
    return _columns(rows)


def _of_series(inputs: Series, labels: Tensor, targets: Tensor) -> list[str]:
    lines = []
    for place, variate in enumerate(inputs.variates[:FEW].tolist()):
        lines.append(f"variate {variate:<4} {_numbers(inputs.values[place], last=True)}")
        lines.append(f"  answer     {_numbers(labels[place])}")
        lines.append(f"  target     {_numbers(targets[place])}")
    return lines + _more(len(inputs.variates), "variates")


def _columns(rows: dict[str, list[str]]) -> list[str]:
    """Rows whose entries stand below each other, in as many parts as it takes."""
    count = len(rows["input"])
    widths = [max(len(row[place]) for row in rows.values()) for place in range(count)]
    lines, first = [], 0
    head = max(map(len, rows)) + 2
    while first < count:
        last, used = first, head
        while last < count and (last == first or used + widths[last] + 1 <= WIDTH):
            used += widths[last] + 1
            last += 1
        for name, row in rows.items():
            cells = [row[place].rjust(widths[place]) for place in range(first, last)]
            lines.append(f"{name:<{head}}{' '.join(cells)}".rstrip())
        first = last
    return lines


def _answer(task: Task, label: Tensor) -> str:
    return _numbers(label) if task.numbers else task.class_names[int(label)]


def _target(task: Task, target: Tensor) -> str:
    if task.numbers:
        return _numbers(target)
    names = task.class_names
    possible = target.nonzero().flatten().tolist()
    if task.graded and float(target.max() - target[possible].min()) > 1e-6:
        likeliest = int(target.argmax())
        return f"{names[likeliest]}:{float(target[likeliest]):.2f}"
    if len(possible) > MOST_NAMED:
        return f"{len(possible)}/{task.classes}"
    return "|".join(names[one] for one in possible)


def _numbers(values: Tensor, *, last: bool = False) -> str:
    """The first numbers of some that fit on a line, or the last."""
    written = [f"{one:g}" if one in (0, 1) else f"{one:.2f}" for one in values.flatten().tolist()]
    shown: list[str] = []
    for one in reversed(written) if last else written:
        if sum(map(len, shown)) + len(shown) + len(one) > WIDTH - 20:
            break
        shown.append(one)
    text = " ".join(reversed(shown) if last else shown)
    if len(shown) == len(written):
        return text
    return f"... {text}" if last else f"{text} ..."


def _more(count: int, what: str) -> list[str]:
    return [f"... {count - FEW} more {what}"] if count > FEW else []
