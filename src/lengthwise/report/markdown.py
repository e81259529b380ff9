"""Results as Markdown: tables that stand between marks of a page and can be made anew.

`<!-- verdicts -->`, `<!-- findings figure-3 -->` (of one claim or several) and `<!-- table tvd -->`
begin a table, `<!-- end -->` ends it. What stands outside of them is the author's.
"""

import re
from collections.abc import Sequence

from lengthwise.claims import Finding, Reproduction
from lengthwise.errors import require_name
from lengthwise.report.files import named
from lengthwise.report.numbers import interval, number

MARKS = re.compile(r"(<!-- (verdicts|findings|table)([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def renewed(text: str, done: Reproduction) -> str:
    """The page with all tables between marks made anew.

    Raises:
        InputError: If a mark names a claim or a table that these results do not have.
    """
    claims = {verdict.claim.name.split("/")[-1]: verdict for verdict in done.verdicts}
    tables = dict(named(done.tables))

    def table(kind: str, names: Sequence[str]) -> str:
        for name in names:
            require_name(name, tables if kind == "table" else claims, f"mark <!-- {kind} -->")
        if kind == "table":
            return "\n\n".join(_rows(tables[one].columns, tables[one].rows) for one in names)
        if kind == "verdicts":
            rows = [
                (one.claim.sentence, f"**{one.outcome}**", *_effect(one.headline, ": "))
                for one in claims.values()
            ]
            return _rows(("claim", "verdict", "effect", "95 % interval", "over"), rows)
        rows = [_effect(finding, " | ") for one in names for finding in claims[one].findings]
        return _rows(("effect", "estimate", "95 % interval", "over"), rows)

    def between_marks(found: re.Match[str]) -> str:
        return f"{found[1]}{table(found[2], found[3].split())}\n{found[4]}"

    return MARKS.sub(between_marks, text)


def new_page(done: Reproduction) -> str:
    """A page to begin with: all figures, and marks for all tables."""
    first = done.sections[0]
    parts = [
        f"# {_plain(first.title)}",
        _plain(first.introduction),
        "<!-- verdicts -->\n<!-- end -->",
    ]
    parts += [
        f"![{_plain(one.alt)}]({name}.svg)\n\n{_plain(one.caption)}"
        for name, one in named(done.pictures)
    ]
    for verdict in done.verdicts:
        parts.append(f"## {_plain(verdict.claim.sentence)}")
        name = verdict.claim.name.split("/")[-1]
        if re.fullmatch(r"[\w.-]+", name):  # a mark is a comment, which another name could end
            parts.append(f"<!-- findings {name} -->\n<!-- end -->")
    parts += [
        f"{_plain(one.caption)}\n\n<!-- table {name} -->\n<!-- end -->"
        for name, one in named(done.tables)
        if one.shown
    ]
    return renewed("\n\n".join(parts) + "\n", done)


def _effect(finding: Finding, between: str) -> tuple[str, ...]:
    one = finding.estimate
    effect = f"{finding.effect}{between}{number(one.mean)}"
    return effect, interval(one.low, one.high), f"{one.count} {one.unit}"


def _plain(text: str) -> str:
    """Text as Markdown shows it; a tag in it would be one of the page."""
    return re.sub("<(?=[a-zA-Z/!?])", "&lt;", text)


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(map(_plain, row)) + " |" for row in (columns, *rows)]
    lines.insert(1, "|---" * len(columns) + "|")
    return "\n".join(lines)
