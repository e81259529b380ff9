"""The page of a comparison: one self-contained HTML file, from which no request leaves.

It is made from a payload whose numbers are ready; nothing is estimated here. Any number may be None
(not measured, or without bound); an estimate is `{"mean", "low", "high", "count"}`, with `"p"` if
it was tested (corrected for the number of remedies). Keys that are not named here are ignored:

- `title`, `baseline` (a remedy's name), `scale`
- `made`: `command` (makes the page again), `versions` (sentences), `done` and `planned` (numbers of
  models), `hours` (of training, optional), `missing` (sentences)
- `rules`: sentences
- `multiples`: of the training length, at which everything is tested
- `lower_is_better` (optional): names of measures; unless it is there, `LOWER_IS_BETTER`
- `tasks`: `name`, `family`, `summary`, `score` (the measure that decides), `measures`, `gate`,
  `unit`, `train_length`, `steps` (optional), `lengths` (one per multiple), `chance` and
  `length_only` (by measure, one number per length), `learned` (False: no remedy learned it, so it
  is shown and not ranked; None: nothing is done yet), `counted` (optional: whether it is part of
  reach)
- `models`: how each is called
- `remedies`: `name`, `summary` (optional; else the last part's), `baseline` (whether it is),
  `parts` (`name`, `kind`, `summary`, `text`, `arxiv`: a chain has several), `model`, `parameters`,
  `more_parameters` (than the baseline), `cost` (an estimate), `learned` (so many of so many),
  `reach` and `reach_fixed` (estimates by the two rules), `ratio` (to the baseline's reach; None
  for itself), `rank` (first and last place that intervals allow), `helps` and `harms` (names of
  tasks)
- `cells`: `remedy`, `task`, `verdict` ("helps", "harms", "unclear", "baseline", "not learned" or
  "not done"), `learned`, `reach`, `ratio`, `scores` and `differences` (from the baseline; by
  measure, `mean`, `low` and `high` with a number per length), `seeds` (`seed`, `learning_rate`,
  `learned`, `break` (None: not up to the longest), `scores`), `rates` (`learning_rate`, `in_range`,
  `learned`), `curve` (`steps`, `scores`: of the deciding measure, per step a number per length) and
  `command` (trains it again)

A remedy is known by its name, a cell by its remedy and its task.
"""

import base64
import hashlib
import html
import json
from importlib import resources
from math import isfinite
from typing import Any

from lengthwise.comparing.sections import before_tables, below_tables, controls

LOWER_IS_BETTER = ("tvd", "illegal_mass", "argmax_illegal", "kl", "mse", "excess_mse", "loss")
"""The measures of tasks that are errors: less of them is blue, not orange."""

SCRIPTS = ("charts.js", "panel.js", "compare.js")
"""In the order in which the page runs them."""


def page(payload: dict[str, Any]) -> str:
    """The page as text: the same for the same payload."""
    payload = _rounded({"lower_is_better": LOWER_IS_BETTER} | payload)
    style = _file("compare.css")
    script = "\n".join(map(_file, SCRIPTS))
    title = html.escape(str(payload["title"]))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        # Without an icon of its own, a page on a server asks that server for one.
        '<link rel="icon" href="data:,">',
        f"<title>{title}</title><style>{style}</style></head><body>",
        before_tables(payload),
        controls(payload),
        below_tables(payload),
        f'<script type="application/json" id="data">{_data(payload)}</script>',
        f"<script>{script}</script>",
        "</body></html>",
    ]
    text = "\n".join(parts) + "\n"
    # Names of files may hold what is no text, which could not be written.
    return text.encode("utf-8", "replace").decode("utf-8")


def _file(name: str) -> str:
    return resources.files("lengthwise.comparing").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: its own script and style by their hashes, nothing else."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(payload: dict[str, Any]) -> str:
    """The payload as JSON that cannot end the element it stands in."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _rounded(value: Any) -> Any:
    """Numbers to five digits, which is more than the page shows; no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        # Nearly all numbers stand in lists: no call for each of them.
        return [
            float(f"{one:.5g}") if type(one) is float and isfinite(one) else _rounded(one)
            for one in value
        ]
    if isinstance(value, float):
        return float(f"{value:.5g}") if isfinite(value) else None
    return value
