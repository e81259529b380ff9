"""One self-contained HTML page about tested claims: no request leaves it."""

import html
from collections.abc import Sequence
from importlib import resources

from lengthwise.claims import Finding, Picture, Reproduction, Section, Table, Verdict
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.report.numbers import number


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
    rows = "".join(
        "<tr>"
        f"<td><span class='verdict {verdict.outcome}'>{verdict.outcome}</span></td>"
        f"<td>{html.escape(verdict.claim.sentence)}"
        f"<br><small>{html.escape(verdict.claim.source)}</small></td>"
        f"<td class=number>{number(verdict.headline.estimate.mean)}</td>"
        f"<td class=number>{_interval(verdict.headline)}</td>"
        f"<td class=number>{_over(verdict.headline)}</td></tr>"
        for verdict in verdicts
    )
    legend = "".join(
        f"<li>{html.escape(v.claim.name)}: {html.escape(v.headline.effect)}</li>" for v in verdicts
    )
    return (
        "<h2>Verdicts</h2><div class=wide><table><thead><tr><th>Verdict</th><th>Claim</th>"
        "<th class=number>Effect</th><th class=number>95&nbsp;% interval</th>"
        f"<th class=number>Over</th></tr></thead><tbody>{rows}</tbody></table></div>"
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
    head = "".join(
        f"<th{' class=number' if place else ''}>{html.escape(column)}</th>"
        for place, column in enumerate(table.columns)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=number' if place else ''}>{html.escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f"<figure><div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"</table></div><figcaption>{html.escape(table.caption)}</figcaption></figure>"
    )


def _evidence(verdicts: Sequence[Verdict]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(verdict.claim.name)}</td><td>{html.escape(finding.effect)}</td>"
        f"<td class=number>{number(finding.estimate.mean)}</td>"
        f"<td class=number>{_interval(finding)}</td>"
        f"<td class=number>{_over(finding)}</td>"
        f"<td class=number>{number(finding.smallest)}</td>"
        f"<td>{finding.words}</td></tr>"
        for verdict in verdicts
        for finding in verdict.findings
    )
    return (
        "<h2>All the evidence</h2><div class=wide><table><thead><tr><th>Claim</th><th>Effect</th>"
        "<th class=number>Estimate</th><th class=number>95&nbsp;% interval</th>"
        "<th class=number>Over</th><th class=number>Smallest that matters</th><th>Outcome</th>"
        f"</tr></thead><tbody>{rows}</tbody></table></div><p class=note>A number <em>holds</em> "
        "if its whole interval lies above the smallest effect that matters, <em>fails</em> if it "
        "lies below, and is <em>undecided</em> otherwise. Intervals are Student's t, or a "
        "bootstrap where that is said; where an effect says <em>every</em>, they are the smallest "
        "and the largest value instead.</p>"
    )


def _origin(reproduction: Reproduction, command: str) -> str:
    runs = "".join(
        f"<tr><td>{html.escape(folder.path.name)}</td>"
        f"<td>{html.escape(_seeds(folder.hyperparameters))}</td>"
        f"<td>lengthwise {html.escape(folder.description['version']['lengthwise'])}, "
        f"torch {html.escape(folder.description['version']['torch'])}, "
        f"commit {html.escape(folder.description['version']['commit'][:12])}</td></tr>"
        for folder in reproduction.folders
    )
    notes = (note for section in reproduction.sections for note in section.notes)
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    table = (
        "<div class=wide><table><thead><tr><th>Run</th><th>Seeds</th><th>Code</th></tr></thead>"
        f"<tbody>{runs}</tbody></table></div>"
    )
    return (
        "<h2>Where the numbers come from</h2><p>This page is made again by</p>"
        f"<pre>{html.escape(command)}</pre>"
        f"{table if runs else ''}<ul>{listed}</ul>"
    )


def _seeds(hyperparameters: Sequence[Hyperparameters]) -> str:
    seeds = sorted({one.seed for one in hyperparameters})
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]} ({len(seeds)})"
    return ", ".join(map(str, seeds))


def _interval(finding: Finding) -> str:
    return f"{number(finding.estimate.low)} to {number(finding.estimate.high)}"


def _over(finding: Finding) -> str:
    return html.escape(f"{finding.estimate.count} {finding.estimate.unit}")
