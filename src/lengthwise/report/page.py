"""One self-contained HTML page about tested claims: no request leaves it."""

import html
from collections.abc import Container, Sequence
from importlib import resources

from lengthwise.claims import Finding, Picture, Reproduction, Section, Table, Verdict
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.report.numbers import interval, number


def page(reproduction: Reproduction, command: str) -> str:
    """The page as text: the verdicts, a section per experiment, all evidence and its origin.

    Args:
        reproduction: Verdicts, sections and the runs behind them.
        command: What makes this page again.
    """
    opening = reproduction.sections[0]
    title = opening.title if len(reproduction.sections) == 1 else "What the papers claim, tested"
    style = resources.files("lengthwise.report").joinpath("page.css").read_text(encoding="utf-8")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title><style>{style}</style></head><body><main>",
        f"<h1>{html.escape(title)}</h1>",
        f"<p class=lead>{html.escape(opening.introduction)}</p>" if title == opening.title else "",
        _verdict_table(reproduction.verdicts),
        *(_section(section, title) for section in reproduction.sections),
        _evidence(reproduction.verdicts),
        _origin(reproduction, command),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict_table(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            f"<span class='verdict {one.outcome}'>{one.outcome}</span>",
            f"{html.escape(one.claim.sentence)}<br><small>{html.escape(one.claim.source)}</small>"
            + (f"<br><small>{html.escape(one.to_decide)}</small>" if one.to_decide else ""),
            *_numbers(one.headline),
        )
        for one in verdicts
    ]
    legend = "".join(
        f"<li>{html.escape(v.claim.name)}: {html.escape(v.headline.effect)}</li>" for v in verdicts
    )
    columns = ("Verdict", "Claim", "Effect", "95&nbsp;% interval", "Over")
    return (
        f"<h2>Verdicts</h2>{_grid(columns, rows, range(2, 5))}"
        f"<p class=note>What the effects are:</p><ul class=note>{legend}</ul>"
    )


def _section(section: Section, page_title: str) -> str:
    figures = "".join(_figure(picture) for picture in section.pictures)
    figures += "".join(_table(table) for table in section.tables if table.shown)
    if section.title == page_title:  # the page has opened with its words already
        return figures
    title, introduction = html.escape(section.title), html.escape(section.introduction)
    return f"<h2>{title}</h2><p>{introduction}</p>{figures}"


def _figure(picture: Picture) -> str:
    return (
        f'<figure role="img" aria-label="{html.escape(picture.alt)}">{picture.svg}'
        f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    columns, *rows = ([html.escape(cell) for cell in row] for row in (table.columns, *table.rows))
    grid = _grid(columns, rows, range(1, len(columns)))
    return f"<figure>{grid}<figcaption>{html.escape(table.caption)}</figcaption></figure>"


def _evidence(verdicts: Sequence[Verdict]) -> str:
    rows = [
        (
            html.escape(verdict.claim.name), html.escape(finding.effect), *_numbers(finding),
            number(finding.smallest), finding.words,
        )
        for verdict in verdicts
        for finding in verdict.findings
    ]  # fmt: skip
    columns = ("Claim", "Effect", "Estimate", "95&nbsp;% interval", "Over",
               "Smallest that matters", "Outcome")  # fmt: skip
    return (
        f"<h2>All the evidence</h2>{_grid(columns, rows, range(2, 6))}<p class=note>A number "
        "<em>holds</em> if its whole interval lies above the smallest effect that matters, "
        "<em>fails</em> if it lies below, and is <em>undecided</em> otherwise. Intervals are "
        "Student's t, or a bootstrap where that is said; where an effect says <em>every</em>, they "
        "are the smallest and the largest value instead.</p>"
    )


def _origin(reproduction: Reproduction, command: str) -> str:
    rows = []
    for folder in reproduction.folders:
        version = folder.version
        code = f"lengthwise {version['lengthwise']}, torch {version['torch']}"
        parts = (folder.path.name, _seeds(folder.hyperparameters),
                 f"{code}, commit {version['commit'][:12]}")  # fmt: skip
        rows.append([html.escape(part) for part in parts])
    notes = (note for section in reproduction.sections for note in section.notes)
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return (
        "<h2>Where the numbers come from</h2><p>This page is made again by</p>"
        f"<pre>{html.escape(command)}</pre>"
        f"{_grid(('Run', 'Seeds', 'Code'), rows, ()) if rows else ''}<ul>{listed}</ul>"
    )


def _seeds(hyperparameters: Sequence[Hyperparameters]) -> str:
    seeds = sorted({one.seed for one in hyperparameters})
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]} ({len(seeds)})"
    return ", ".join(map(str, seeds))


def _numbers(finding: Finding) -> tuple[str, str, str]:
    """An estimate, its interval, and what it is over, as cells."""
    one = finding.estimate
    return number(one.mean), interval(one.low, one.high), html.escape(f"{one.count} {one.unit}")


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Container[int]) -> str:
    """A table of cells that are HTML already; `numbers` says which columns hold numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = (" class=number" if place in numbers else "" for place in range(len(cells)))
        filled = (f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(filled)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    head = line(columns, "th")
    return f"<div class=wide><table><thead>{head}</thead><tbody>{body}</tbody></table></div>"
