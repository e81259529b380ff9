"""The tables that the pages of this folder share, as Markdown and CSV."""

import csv
import re
from pathlib import Path

from lengthwise.claims import Verdict
from lengthwise.report.numbers import number


def write_findings(verdicts: list[Verdict], path: Path, counted: str) -> None:
    """All numbers, for those who want to compute with them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["claim", "effect", "estimate", "low", "high", counted, "smallest", "outcome"]
        )
        for verdict in verdicts:
            for finding in verdict.findings:
                one = finding.estimate
                writer.writerow([
                    verdict.claim.name, finding.effect, *map(number, (one.mean, one.low, one.high)),
                    one.count, number(finding.smallest),
                    finding.outcome if finding.decides else "shown beside",
                ])  # fmt: skip


def verdict_table(verdicts: list[Verdict]) -> str:
    """A line per claim."""
    lines = ["| claim | verdict | effect | 95 % interval |", "|---|---|---|---|"]
    for verdict in verdicts:
        one = verdict.headline.estimate
        lines.append(
            f"| {verdict.claim.sentence} | **{verdict.outcome}** | {verdict.headline.effect}: "
            f"{number(one.mean)} | {number(one.low)} to {number(one.high)} |"
        )
    return "\n".join(lines)


def finding_table(verdicts: list[Verdict], *names: str, counted: str) -> str:
    """A line per finding of the named claims; `counted` is what the interval is over."""
    lines = [f"| effect | estimate | 95 % interval | {counted} |", "|---|---|---|---|"]
    for verdict in verdicts:
        if verdict.claim.name.split("/")[1] in names:
            for finding in verdict.findings:
                one = finding.estimate
                lines.append(
                    f"| {finding.effect} | {number(one.mean)} | {number(one.low)} to "
                    f"{number(one.high)} | {one.count} |"
                )
    return "\n".join(lines)


def replaced(text: str, name: str, table: str) -> str:
    """The text with another table between the marks of `name`."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    return re.sub(pattern, lambda found: f"{found[1]}{table}\n{found[2]}", text, flags=re.DOTALL)
