"""Write docs/reliability.md of the record: no number in it is typed by hand."""
# ruff: noqa: E501 - sentences of the page are filled lines with numbers in them

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from soak._harness import ROOT, Record
from soak.hostile import COUNT as INPUTS
from soak.kills import KILLS
from soak.together import COUNT as TOGETHER

PAGE = ROOT / "docs" / "reliability.md"
FOUND = Path(__file__).parent / "found.json"
"""What the soak found and what was done about it, with the test that keeps it so."""

INTRODUCTION = """\
# Reliability: a soak that tries to break it

`make soak` kills, starves, confuses and feeds rubbish to every command, for as long as it takes, and
compares what comes out with what comes out when nothing happens. A case is a pure function of its
number, and each leaves a line in `soak-record/`: stopped, the soak goes on where it was. This page
is written by `python -m soak.report` of that record. Quick versions of all but the cluster are in `make test`
(`tests/soak/`).
"""


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"page: {PAGE}")
    return 0


def page() -> str:
    """The whole page."""
    sections = (_hostile, _kills, _full_disk, _together, _cluster, _untrusted)
    made = [section() for section in sections]
    parts = [INTRODUCTION, "## In short\n", _table(
        ("test", "run", "asked for", "wrong", "command"), [row for row, _ in made]
    )]  # fmt: skip
    parts.append(_code())
    parts += [text for _, text in made]
    parts.append(_found())
    return "\n".join(parts).rstrip() + "\n"


def _code() -> str:
    """Which states of the source the record is about."""
    from soak.__main__ import TESTS

    states = {one["code"] for test in TESTS for one in _cases(test)}
    return (
        f"The record names the source of every case by a digest. Cases were run while what they found "
        f"was mended: {len(states)} states of the source, in which every case that went wrong was run "
        "again after its cause was mended.\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return "\n".join(lines) + "\n"


def _cases(test: str) -> list[dict[str, Any]]:
    return [one for _, one in sorted(Record(test).cases.items())]


def _counted(cases: Sequence[dict[str, Any]], field: str, what: str) -> str:
    """A table of how many cases there were of each kind, and how many went wrong."""
    every, wrong = Counter(one[field] for one in cases), Counter(
        one[field] for one in cases if one["wrong"]
    )  # fmt: skip
    return _table((what, "cases", "wrong"), [(k, n, wrong[k]) for k, n in sorted(every.items())])


def _row(test: str, done: object, asked: object, wrong: int) -> tuple[object, ...]:
    return test.replace("_", " "), done, asked, wrong, f"`python -m soak.{test}`"


def _wrong(cases: Sequence[dict[str, Any]]) -> int:
    return sum(bool(one["wrong"]) for one in cases)


def _hostile() -> tuple[Sequence[object], str]:
    cases = _cases("hostile")
    ran = [one for one in cases if "seconds" in one]
    exits = Counter(one["exit"] for one in cases)
    worked = max((one.get("processor", 0) for one in ran), default=0)
    largest = max((one["megabytes"] for one in ran), default=0)
    group = [
        one | {"group": "options and arguments" if one["kind"].startswith("options of")
               else one["kind"]} for one in cases
    ]  # fmt: skip
    text = f"""\
## Damaged and hostile inputs

A command, valid files for it, and one thing wrong: a file cut, bits flipped, empty, zeros, random
bytes, a file of another kind, a wrong or missing field, a column gone or of another type, a tensor
missing or not finite, a link to nothing, to itself or to a device, a pipe, no right to read or
write, a `.py` file that raises; or an option with a huge number, a wrong type or a path trick.
Commands run as a user without rights, with {INPUTS:,} cases asked for. Searches train inside the
process, which saves the start of a worker.

Asked of each: exit code 0 or 2; on 2 one line that names what is wrong; no traceback; no file
changed that was not to be written, nothing left behind; done in time (three minutes of waiting on a busy
machine) and within 3 GiB beyond what the imports take.

{len(cases):,} cases were run: {exits[2]:,} were refused in one line, {exits[0]:,} ended with
exit code 0: the damage was in what is not read, or left a valid file or command. (That a number in a
valid file was changed is seen where files have checksums: in searches, comparisons and games; not in
checkpoints.) The longest took {worked:.1f} s of a processor, the largest process was
{largest:,.0f} MB, of which imports and what they share are some 500.

{_counted(group, "group", "command")}"""
    return _row("hostile", f"{len(cases):,} inputs", f"{INPUTS:,}", _wrong(cases)), text


def _kills() -> tuple[Sequence[object], str]:
    cases = _cases("kills")
    kills = sum(one["kills"] for one in cases)
    moments = [moment for one in cases for moment in one["at"]]
    at = sum(moment.startswith("operation") for moment in moments)
    workers = sum(moment.startswith("a worker") for moment in moments)
    fresh = sum("fresh" in moment for moment in moments)
    by = Counter[str]()
    for one in cases:
        by[one["work"]] += one["kills"]
    rows = [(name, by[name], sum(one["work"] == name for one in cases)) for name in sorted(by)]
    text = f"""\
## SIGKILLs

Work is killed one to four times and then left to end; what it made is compared bit for bit with what
it makes undisturbed, and every trial, cell, shard and length is there once. {kills:,} kills: {at:,} at
a random one of the moments at which the command opens, renames or removes a file, {workers:,} of a
worker process, {fresh:,} of processes started as a user starts them, the others at a random time of
processes that were forked from one with everything imported.

{_table(("work", "kills", "results compared"), rows)}"""
    return _row("kills", f"{kills:,} kills", f"{KILLS:,}", _wrong(cases)), text


def _full_disk() -> tuple[Sequence[object], str]:
    cases = _cases("full_disk")
    asked = cases[-1]["of"] if cases else 0
    said = sum(bool(one["line"]) for one in cases)
    text = f"""\
## No room

The same work where every opening of a file to write, every renaming and every making of a folder
fails in turn with "no space left" or "quota exceeded" (and all after it); on a tmpfs of a few pages;
and with a limit on the size of files. Then there is room again, and the same command goes on. In
{said:,} of {len(cases):,} cases the command had to give up and said so in one line; in the others the
room was enough. Results that were there before are there after, and the end is bit for bit the same.

{_counted(cases, "work", "work")}
{_counted(cases, "way", "no room by")}"""
    return _row("full_disk", f"{len(cases):,} writes", f"{asked:,} (all)", _wrong(cases)), text


def _together() -> tuple[Sequence[object], str]:
    cases = _cases("together")
    refused = sum("refused:" in one["line"] for one in cases)
    text = f"""\
## Two processes, the clock, the place, the version

Work is stopped at a random file operation. Then a second process does the same in the same folder
while the first stands still and goes on later; or all files are a year younger than the clock; or
the folder has another place and name; or the package has another version. Refused in one line
({refused:,} times) or right, never mixed. Folders of runs, searches and studies are locked; the
others are not, and there both processes write the same bytes.

{_counted(cases, "kind", "what")}"""
    return _row("together", f"{len(cases):,} cases", f"{TOGETHER:,}", _wrong(cases)), text


def _cluster() -> tuple[Sequence[object], str]:
    from soak.cluster import HOURS, SECONDS_PER_HOUR

    cases = _cases("cluster")
    hours = sum(one["simulated_hours"] for one in cases)
    came, went, jobs = (sum(one[name] for one in cases) for name in ("came", "went", "jobs"))
    text = f"""\
## A cluster whose nodes come and go

Real Ray nodes on this machine are started and killed at random while searches and comparisons run
on them. {came} nodes came and {went} went without a word, over {len(cases)} searches and comparisons
of {jobs:,} trials and cells, each of which is there once, with the numbers of one process. Nodes
lived for {hours * SECONDS_PER_HOUR:.0f} s in all; with {SECONDS_PER_HOUR:.0f} s of a node for an hour
(ours) that is {hours:.1f} simulated hours.

{_counted(cases, "kind", "work")}"""
    return _row("cluster", f"{hours:.1f} hours", f"{HOURS}", _wrong(cases)), text


def _untrusted() -> tuple[Sequence[object], str]:
    cases = _cases("untrusted")
    checks = sum(len(one["checks"]) for one in cases)
    pages = [told for one in cases for told in one["checks"] if told.startswith("browser: ")]
    text = f"""\
## Files of strangers

Every file that a command reads was replaced by a pickle that makes a file when it is loaded; nothing
was unpickled (an audit hook listens). Folders and checkpoints with code inside were refused by every
command before `lengthwise trust`, and models that name code of their own did not run it. A remedy, a
claim and a model whose names are HTML went through every page that is written; {len(pages)} pages and
pictures were opened in Chromium, and no name was run. {checks:,} checks in all.

{_counted(cases, "kind", "what")}"""
    return _row("untrusted", f"{checks:,} checks", "all", _wrong(cases)), text


def _found() -> str:
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    rows = [(number, one["what"], one["now"], f"`{one['test']}`")
            for number, one in enumerate(found, 1)]  # fmt: skip
    return f"""\
## What was found and fixed

{_table(("", "what happened", "now", "test"), rows)}"""


if __name__ == "__main__":
    sys.exit(main())
