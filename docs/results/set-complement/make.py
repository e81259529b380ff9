"""Write the tables and figures of this folder from a finished search.

Run `lengthwise reproduce whats-missing/figure-2 --scale laptop` first, then
`python docs/results/set-complement/make.py runs/reproduce/set-complement-search/laptop`.
The tables of README.md stand between marks and are replaced; its words are not touched.
"""

import csv
import re
import sys
from pathlib import Path

from lengthwise.claims import Results, Verdict
from lengthwise.papers.whats_missing import CLAIMS, figure_1
from lengthwise.papers.whats_missing.search_experiment import SEARCH
from lengthwise.report.numbers import number
from lengthwise.search import SearchFolder

HERE = Path(__file__).parent
FILES = {
    "table-1": "table-1.svg",
    "figure-1": "figure-1.svg",
    "figure-2": "figure-2.svg",
    "search-dropout": "dropout.svg",
    "search-ema": "averaging.svg",
    "search-combination": "combination.svg",
}
"""The picture of each claim that has one."""


def main(place: Path) -> None:
    """Judge all claims about the search in `place`, and write everything."""
    results = Results("laptop", {}, {}, place, search=SearchFolder.open(place / "search"))
    claims = [claim for claim in CLAIMS if claim.experiment is SEARCH]
    verdicts = [claim.judge(results) for claim in claims]
    for claim in claims:
        for picture in claim.pictures(results):
            file = FILES[claim.name.split("/")[1]]
            (HERE / file).write_text(picture.svg, encoding="utf-8")
    write_findings(verdicts)
    best = figure_1.best_of_families(results).sort("gap", "tvd_beyond")
    names = ["gap", "family", "kind", "tvd_within", "tvd_beyond", "argmax_illegal_beyond"]
    settings = ["extra", "steps", "learning_rate", "final_rate", "weight_decay", "loss"]
    dropouts = ["dropout_embedding", "dropout_weights", "dropout_output"]
    chosen = best.select(*names, "illegal_mass_beyond", "trial", *settings, *dropouts)
    chosen.write_csv(HERE / "best-of-families.csv", float_precision=6)
    readme = HERE / "README.md"
    text = replaced(readme.read_text(encoding="utf-8"), "verdicts", verdict_table(verdicts))
    text = replaced(text, "dropout", finding_table(verdicts, "search-dropout"))
    text = replaced(text, "averaging", finding_table(verdicts, "search-ema", "search-bema"))
    text = replaced(text, "norm", finding_table(verdicts, "search-post-norm"))
    text = replaced(text, "combination", finding_table(verdicts, "search-combination"))
    text = replaced(text, "figures", finding_table(verdicts, "figure-1", "figure-2"))
    readme.write_text(text, encoding="utf-8")


def write_findings(verdicts: list[Verdict]) -> None:
    """All numbers, for those who want to compute with them."""
    with (HERE / "findings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["claim", "effect", "estimate", "low", "high", "pairs", "smallest", "outcome"]
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


def finding_table(verdicts: list[Verdict], *names: str) -> str:
    """A line per finding of the named claims."""
    lines = ["| effect | estimate | 95 % interval | pairs |", "|---|---|---|---|"]
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
