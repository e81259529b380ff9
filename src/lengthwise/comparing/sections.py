"""The parts of the page that are words: what is compared, tasks, remedies, rules and origin.

They are here, and not in the page's script, so that they are read without it as well.
"""

import html
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

FILES = {
    "reach.csv": "the table of reach",
    "cells.csv": "remedies by tasks by lengths, every measure",
    "cells.parquet": "the same as Parquet",
    "table.md": "reach by task for Markdown",
    "table.tex": "and for LaTeX",
    "study.json": "what is compared, by which command and code",
}
"""What stands beside the page."""


def before_tables(payload: dict[str, Any]) -> str:
    """The head of the page: what is compared, how much of it is there, who reaches furthest."""
    links = {
        "reach": "Reach", "matrix": "Where it helps", "remedies": "Remedies", "tasks": "Tasks",
        "rules": "Rules", "origin": "Files",
    }  # fmt: skip
    listed = "".join(f'<a href="#{key}">{word}</a>' for key, word in links.items())
    return (
        '<a class="skip" href="#reach">To the table</a><header><nav aria-label="On this page">'
        f'{listed}</nav><button type="button" id="theme" hidden>Dark</button></header><main>'
        f"<h1>{_text(payload['title'])}</h1><p class='lead'>{_lead(payload)}</p>"
        f"{_furthest(payload)}{_missing(payload)}"
        "<noscript><p class='warning'>The tables of this page need JavaScript. The same numbers "
        "are in <a href='table.md'>table.md</a>.</p></noscript>"
    )


def controls(payload: dict[str, Any]) -> str:
    """Tables to be filled by the script, and what chooses what they show."""
    baseline = _text(payload["baseline"])
    families = _unique(task["family"] for task in payload["tasks"])
    measures = _unique(one for task in payload["tasks"] for one in task["measures"])
    models = _unique(payload["models"])
    shown = [("reach", "reach"), ("learned", "share that learned")]
    shown += [
        (str(place), f"score at {m:g}&times;") for place, m in enumerate(payload["multiples"])
    ]
    selects = [
        _select("show", "Show", shown),
        _select("as", "As", [("value", "value"), ("change", f"change from {baseline}")]),
        _select("measure", "Measure", [("", "each task's own"), *_words(measures, _spaced)]),
        _select(
            "family", "Tasks", [("", "all families"), *((_text(f), _text(f)) for f in families)]
        ),
    ]
    model = _select("model", "Model", [("", "all models"), *((_text(m), _text(m)) for m in models)])
    chosen = f'<form class="controls" aria-label="Models">{model}</form>' if models[1:] else ""
    return (
        f'<section id="reach"><h2>Reach</h2><p>How many times longer than in training an input may '
        "be before a model breaks: the geometric mean over tasks of break length over training "
        f"length. Lines are 95&nbsp;% intervals over seeds; the dashed one is {baseline}.</p>"
        f'{chosen}<div class="wide" role="region" aria-label="Table of reach" tabindex="0">'
        '<table id="reach-table"></table></div>'
        "<p class='note'>A column's heading sorts by it. A rank spans all places that intervals "
        f"allow. Ratio: reach over that of {baseline}, paired by seed; p is corrected for the "
        "number of remedies (Holm). Learned: models that passed the gate at the training length. "
        f"Cost: time of a training step over that of {baseline}.</p></section>"
        '<section id="matrix"><h2>Where it helps, where it harms</h2>'
        f'<form class="controls" aria-label="What is shown">{"".join(selects)}</form>'
        '<div id="legend"></div>'
        '<div class="wide" role="region" aria-label="Tasks by remedies" tabindex="0">'
        '<table id="matrix-table"></table></div>'
        "<p class='note'>A cell opens by click or Enter: curves, seeds, the command. Arrow keys "
        "move between cells.</p></section>"
        '<div id="tip" role="tooltip" hidden></div>'
        '<dialog id="panel" aria-labelledby="panel-title"></dialog>'
    )


def below_tables(payload: dict[str, Any]) -> str:
    """Remedies, tasks, rules, and where the numbers come from."""
    made = payload["made"]
    hours = f", {made['hours']:g} hours of training" if made.get("hours") else ""
    files = "".join(f'<li><a href="{name}">{name}</a>: {w}</li>' for name, w in FILES.items())
    taken: set[str] = set()
    remedies = "".join(_remedy(one, taken) for one in payload["remedies"])
    return (
        f'<section id="remedies"><h2>Remedies</h2>{remedies}</section>'
        f'<section id="tasks"><h2>Tasks</h2>{_tasks(payload["tasks"])}</section>'
        f'<section id="rules"><h2>Rules</h2><ol>{_items(payload["rules"])}</ol></section>'
        '<section id="origin"><h2>Where the numbers come from</h2>'
        f"<p>{made['done']:,} trained models of scale “{_text(payload['scale'])}”{hours}. This "
        f'page is made again by</p><pre tabindex="0">{_text(made["command"])}</pre>'
        f"<ul>{_items(payload['models'])}{_items(made['versions'])}</ul>"
        f"<p>The same numbers as files beside this page:</p><ul>{files}<li><code>records/*.parquet"
        "</code>: one record per model, with recipe, versions and all measures</li></ul></section>"
        "</main>"
    )


def _lead(payload: dict[str, Any]) -> str:
    made = payload["made"]
    others = sum(not remedy["baseline"] for remedy in payload["remedies"])
    multiples = _listed(f"{one:g}" for one in payload["multiples"])
    done = f"all {made['planned']:,}"
    if made["done"] != made["planned"]:
        done = f"{made['done']:,} of {made['planned']:,}"
    return (
        f"{_count(others, 'remedy', 'remedies')} against {_text(payload['baseline'])} on "
        f"{_count(len(payload['tasks']), 'task', 'tasks')}, trained on short inputs and tested at "
        f"{multiples} times that length, under the same rules: {done} models are trained."
    )


def _furthest(payload: dict[str, Any]) -> str:
    """One sentence that a reader in a hurry may take home."""
    placed = [
        one for one in payload["remedies"] if one["rank"] and (one["reach"] or {}).get("mean")
    ]
    first = [one for one in placed if one["rank"][0] == 1]
    if not first or len(first) == len(placed):
        return "<p>Intervals do not separate the remedies.</p>" if placed else ""
    first.sort(key=lambda one: -one["reach"]["mean"])
    names = _listed(f"<b>{_text(one['name'])}</b> ({one['reach']['mean']:.2f})" for one in first)
    base = next((one for one in placed if one["baseline"]), None)
    against = f"; {_text(base['name'])} has {base['reach']['mean']:.2f}" if base else ""
    if len(first) == 1:
        return f"<p>Furthest: {names}{against}.</p>"
    return f"<p>Furthest: {names}, which intervals do not separate{against}.</p>"


def _missing(payload: dict[str, Any]) -> str:
    said = ""
    halfway = [
        _text(task["name"])
        for task in payload["tasks"]
        if not task.get("counted", True) and task["learned"] is not False
    ]
    if halfway:
        said = (
            f"<p class='warning'>Not all remedies are done on {_listed(halfway)}: no part of reach "
            "and ranks yet.</p>"
        )
    if unlearned := [_text(task["name"]) for task in payload["tasks"] if task["learned"] is False]:
        said += (
            f"<p class='warning'>Nothing learned {_listed(unlearned)}: shown below, but not part "
            "of reach and ranks.</p>"
        )
    missing = payload["made"]["missing"]
    if not missing:
        return said
    count = payload["made"]["planned"] - payload["made"]["done"]
    words = f"{count:,} models are missing" if count != 1 else "One model is missing"
    listed = f"<summary>{words}</summary><ul>{_items(missing)}</ul>"
    return f"{said}<details class='warning'>{listed}</details>"


def _remedy(remedy: dict[str, Any], taken: set[str]) -> str:
    parts = "".join(_part(part, len(remedy["parts"]) > 1) for part in remedy["parts"])
    anchor = base = "remedy-" + re.sub(r"[^a-z0-9]+", "-", str(remedy["name"]).lower()).strip("-")
    while anchor in taken:  # two names may differ by signs alone
        anchor = f"{base}-{len(taken)}"
    taken.add(anchor)
    summary = remedy.get("summary") or (remedy["parts"][-1]["summary"] if remedy["parts"] else "")
    where = f"It is what the others are compared with, on {_text(remedy['model'])}."
    if not remedy["baseline"]:
        helps, harms = (_listed(map(_text, remedy[key])) or "nowhere" for key in ("helps", "harms"))
        where = f"<b>Helps:</b> {helps}. <b>Harms:</b> {harms}."
    return (
        f"<details class='remedy' id='{anchor}'><summary><h3>{_text(remedy['name'])}</h3> "
        f"<span>{_text(summary)}</span></summary>"
        f"<p>{where}</p><p class='cells'></p>{parts}</details>"
    )


def _part(part: dict[str, Any], named: bool) -> str:
    name = f"<h4>{_text(part['name'])} <small>{_text(part['kind'])}</small></h4>" if named else ""
    source = str(part.get("arxiv") or "")
    if re.fullmatch(r"\d{4}\.\d{4,5}", source):
        source = f'<a href="https://arxiv.org/abs/{source}" rel="noreferrer">arXiv {source}</a>'
    else:
        source = _text(source)
    return f"{name}{prose(str(part['text']))}" + (f"<p>{source}</p>" if source else "")


def prose(text: str) -> str:
    """Paragraphs of a docstring as HTML: indented lines are formulas, backquotes are code."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        for formula, lines in _runs(paragraph.splitlines()):
            if formula:
                shown = _text(textwrap.dedent(lines))
                blocks.append(f"<pre class='formula' tabindex='0'>{shown}</pre>")
            else:
                words = re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(lines))
                blocks.append(f"<p>{words}</p>")
    return "".join(blocks)


def _runs(lines: Sequence[str]) -> Iterable[tuple[bool, str]]:
    """Neighbouring lines that are all formulas or all words."""
    for formula, run in itertools.groupby(lines, lambda line: line[:1].isspace()):
        yield formula, "\n".join(run)


def _tasks(tasks: Sequence[dict[str, Any]]) -> str:
    head = "".join(
        f'<th scope="col">{word}</th>'
        for word in ("Task", "Family", "What", "Trained to", "Tested to", "Score", "Gate")
    )
    rows = "".join(
        f'<tr><th scope="row">{_text(task["name"])}</th><td>{_text(task["family"])}</td>'
        f"<td>{_text(task['summary'])}</td><td>{_number(task['train_length'])} "
        f"{_text(task['unit'])}</td><td>{_number(task['lengths'][-1])}</td><td>{_spaced(task['score'])}</td>"
        f"<td>{_number(task['gate'])}{_unlearned(task)}</td></tr>"
        for task in tasks
    )
    return (
        '<div class="wide" role="region" aria-label="Table of tasks" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _select(name: str, label: str, options: Sequence[tuple[str, str]]) -> str:
    listed = "".join(f'<option value="{value}">{word}</option>' for value, word in options)
    return f'<label>{label} <select name="{name}">{listed}</select></label>'


def _words(
    names: Iterable[str], shown: Callable[[str], str] | None = None
) -> list[tuple[str, str]]:
    return [(_text(one), (shown or _text)(one)) for one in names]


def _spaced(measure: str) -> str:
    return _text(measure.replace("_", " "))


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{_text(one)}</li>" for one in sentences)


def _listed(words: Iterable[str]) -> str:
    *most, last = [*words] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _number(value: float | None) -> str:
    return "&ndash;" if value is None else f"{value:g}"


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _text(value: Any) -> str:
    return html.escape(str(value))


def _unlearned(task: dict[str, Any]) -> str:
    return " (not learned)" if task["learned"] is False else ""
