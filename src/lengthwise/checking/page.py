"""One self-contained page about a check: verdict, break lengths, figures, what-ifs, the command."""

import html
import math
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

import polars

from lengthwise.checking.breaks import RULES, Rule
from lengthwise.checking.kept import PLAIN
from lengthwise.claims import Picture
from lengthwise.report.numbers import number

if TYPE_CHECKING:
    from lengthwise.checking.result import Check


BY_WHAT_IF: tuple[Rule, ...] = ("loss", "copying")
"""The rules that what-ifs are judged by: needles are looked for in the plain model only."""


def page(
    check: "Check", drawn: Sequence[Picture], command: str, imported: polars.DataFrame | None
) -> str:
    """The page as text; no request leaves it.

    Args:
        check: What was found.
        drawn: Its pictures.
        command: What makes the page again.
        imported: Results of lm-evaluation-harness by length, if there are any.
    """
    figures = {picture.name: _figure(picture) for picture in drawn}
    title = f"{check.settings.model}: where it breaks, why, and what mends it"
    verdict = "".join(f"<p class=lead>{html.escape(s)}</p>" for s in check.verdict().splitlines())
    return document(
        title,
        verdict,
        breaks_table({check.settings.model: check}),
        f"<h2>Where and why</h2>{figures['by-length']}",
        figures.get("needles", ""),
        figures["positions"] + figures["distances"],
        _what_ifs(check, figures.get("what-ifs", "")),
        _imported(imported),
        _origin(check, command),
    )


def document(title: str, *parts: str) -> str:
    """An HTML page in the style of the others."""
    style = resources.files("lengthwise.report").joinpath("page.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{style}"
        ".lead{margin:0 0 .7rem}.helps{background:#d9f0e6}.harms{background:#fbe0d3}"
        "</style></head><body><main>"
    )
    body = "\n".join(part for part in parts if part)
    return f"{head}<h1>{html.escape(title)}</h1>\n{body}\n</main></body></html>\n"


def breaks_table(checks: "dict[str, Check]") -> str:
    """Break lengths of one or several models beside what their configurations claim."""
    rows = []
    for name, check in checks.items():
        claimed = check.positions.claimed
        cells = [html.escape(str(check.breaks[rule])) for rule in RULES]
        rows.append([html.escape(name), check.positions.kind, str(claimed or "nothing"), *cells])
    columns = ("Model", "Positions", "Claimed", "Loss", "Copying", "Needles")
    listed = "".join(f"<li>{rule}: {html.escape(text)}</li>" for rule, text in RULES.items())
    return (
        f"<h2>Break length by rule</h2>{grid(columns, rows)}<p class=note>In brackets 95 % of "
        "bootstrap resamples of documents or sequences. A score whose best is below 0.1 cannot be "
        f"judged.</p><ul class=note>{listed}</ul>"
    )


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> str:
    """A table of cells that are HTML already; with numbers, all but the first column are such."""

    def line(cells: Sequence[str], tag: str) -> str:
        def kind(place: int, cell: str) -> str:
            shade = next((k for k in ("helps", "harms") if cell.startswith(f"<!--{k}-->")), "")
            listed = " ".join(filter(None, ("number" if numbers and place else "", shade)))
            return f" class='{listed}'" if listed else ""

        filled = (f"<{tag}{kind(i, cell)}>{cell}</{tag}>" for i, cell in enumerate(cells))
        return f"<tr>{''.join(filled)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    head = line(columns, "th")
    return f"<div class=wide><table><thead>{head}</thead><tbody>{body}</tbody></table></div>"


def _what_ifs(check: "Check", figure: str) -> str:
    if not check.changed:
        return ""
    lengths = check.lengths
    trained = check.positions.claimed or lengths[-1]
    columns = ("What-if", *map(str, lengths))
    plain = check.behaviours.values()
    losses = [["plain", *(number(float(one.document_loss.mean())) for one in plain)]]
    breaks = [["plain", str(check.breaks["loss"]), str(check.breaks["copying"]), "1.00"]]
    copies = [["plain", *(f"{float(one.copied.mean()):.3f}" for one in plain)]]
    for name, found in check.changed.items():
        cells, shares = [], []
        for length in lengths:
            if length not in found:
                cells.append("not tried")
                shares.append("not tried")
                continue
            change = check.loss_against_plain(name, length)
            sure = "helps" if change.high < 0 else "harms" if change.low > 0 else ""
            mark = f"<!--{sure}-->" if sure else ""
            same = check.what_ifs[name].beyond and length <= trained
            cells.append("as plain" if same else f"{mark}{change.mean:+.3f}")
            shares.append("as plain" if same else f"{float(found[length].copied.mean()):.3f}")
        losses.append([name, *cells])
        copies.append([name, *shares])
        found_at = (str(check.break_length(rule, name)) for rule in BY_WHAT_IF)
        breaks.append([name, *found_at, _time_over_plain(check, name)])
    meanings = "".join(
        f"<li>{html.escape(one.name)}: {html.escape(one.sentence)}</li>"
        for one in check.what_ifs.values()
    )
    return (
        "<h2>What mends it without training</h2><p>Loss of the plain model on the same tokens by "
        "length, and what each what-if changes of it (green: lower for sure, red: higher for sure; "
        "paired over documents, 95 % for all what-ifs together).</p>"
        f"{grid(columns, losses, numbers=True)}{figure}<p>Copy accuracy:</p>"
        f"{grid(columns, copies, numbers=True)}<p>Break lengths, judged by the "
        "lengths where a what-if was tried, and time:</p>"
        f"{grid(('What-if', 'Loss', 'Copying', 'Time over plain'), breaks, numbers=True)}"
        f"<ul class=note>{meanings}</ul>"
    )


def _time_over_plain(check: "Check", name: str) -> str:
    """At the longest length where the what-if was run by itself."""
    ratios = [
        float(one.seconds / check.behaviours[length].seconds)
        for length, one in check.changed[name].items()
        if one is not check.behaviours[length]
    ]
    return f"{ratios[-1]:.2f}" if ratios and math.isfinite(ratios[-1]) else "-"


def _imported(frame: polars.DataFrame | None) -> str:
    if frame is None:
        return ""
    wide = frame.pivot("length", index="task", values="score", sort_columns=False)
    lengths = sorted((c for c in wide.columns if c != "task"), key=int)
    rows = [
        [html.escape(row["task"]), *("" if row[n] is None else f"{row[n]:.3f}" for n in lengths)]
        for row in wide.iter_rows(named=True)
    ]
    return (
        "<h2>Results of lm-evaluation-harness</h2><p>Read from a file of results, not measured "
        f"here.</p>{grid(('Task', *lengths), rows, numbers=True)}"
    )


def _origin(check: "Check", command: str) -> str:
    one = check.settings
    said = [
        *check.notes,
        *(f"Left out: {line}" for line in check.dropped),
        f"{one.documents} documents of a text, the last {one.targets} tokens of each; "
        f"{one.sequences} sequences to copy and as many haystacks at each length; weights in "
        f"{one.dtype}; seed {one.seed}.",
    ]
    seconds = sum(
        float(b.seconds + b.more_seconds)
        for name in (PLAIN, *check.changed)
        for n, b in check.of(name).items()
        if name == PLAIN or b is not check.behaviours[n]
    )
    said.append(f"All passes together took {seconds / 60:.1f} minutes.")
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in said)
    made = f"<p>This page is made again by</p><pre>{html.escape(command)}</pre>" if command else ""
    return f"<h2>Where the numbers come from</h2>{made}<ul>{listed}</ul>"


def _figure(picture: Picture) -> str:
    return (
        f'<figure role="img" aria-label="{html.escape(picture.alt)}">{picture.svg}'
        f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
    )
