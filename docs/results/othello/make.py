"""Write the tables and figures of this folder from finished runs.

Run `lengthwise reproduce whats-missing/figure-3 --scale laptop` first, then
`python docs/results/othello/make.py runs/reproduce/othello/laptop`.
The tables of README.md stand between marks and are replaced; its words are not touched.
"""

import sys
from pathlib import Path

import polars

from lengthwise.claims import Results
from lengthwise.measures.distribution import MEASURES
from lengthwise.papers.whats_missing import CLAIMS
from lengthwise.papers.whats_missing import othello_readings as read
from lengthwise.papers.whats_missing.othello import plan
from lengthwise.papers.whats_missing.othello_section import OTHELLO, guess, section
from lengthwise.runs import RunFolder

sys.path.insert(0, str(Path(__file__).parents[1]))
from tables import finding_table, replaced, verdict_table, write_findings

HERE = Path(__file__).parent


def main(place: Path) -> None:
    """Judge the claims about Othello on the runs in `place`, and write everything."""
    runs = plan("laptop")
    tables = {label: RunFolder.open(place / label).table() for label in runs}
    results = Results("laptop", runs, tables, place)
    claims = [claim for claim in CLAIMS if claim.experiment is OTHELLO]
    verdicts = [claim.judge(results) for claim in claims]
    own = section(results)
    (HERE / "by-moves.svg").write_text(own.pictures[0].svg, encoding="utf-8")
    for claim in claims:
        (picture,) = claim.pictures(results)
        (HERE / f"{claim.name.split('/')[1]}.svg").write_text(picture.svg, encoding="utf-8")
    write_findings(verdicts, HERE / "findings.csv", "seeds")
    write_measures(results)
    readme = HERE / "README.md"
    text = replaced(readme.read_text(encoding="utf-8"), "verdicts", verdict_table(verdicts))
    for number in (3, 4, 5):
        text = replaced(
            text, f"figure-{number}", finding_table(verdicts, f"figure-{number}", counted="seeds")
        )
    (table,) = own.tables
    lines = ["| " + " | ".join(row) + " |" for row in (table.columns, *table.rows)]
    lines.insert(1, "|---" * len(table.columns) + "|")
    text = replaced(text, "tvd", "\n".join(lines))
    readme.write_text(text, encoding="utf-8")


def write_measures(results: Results) -> None:
    """TVD of all weights, and all other measures of the raw ones, by arm and number of moves."""
    pieces = []
    for measure in MEASURES:
        table = read.readings(results, measure)
        if measure != "tvd":
            table = table.filter(polars.col("kind") == "raw")
        means = table.group_by("arm", "kind", "length", "inputs").agg(
            mean=polars.col("value").mean(), deviation=polars.col("value").std(), seeds=polars.len()
        )
        pieces.append(means.with_columns(measure=polars.lit(measure)))
    columns = ("measure", "arm", "kind", "length", "mean", "deviation", "seeds", "inputs")
    ordered = polars.concat(pieces).select(columns).sort(columns[:4])
    ordered.write_csv(HERE / "measures.csv", float_precision=4)
    guesses = polars.DataFrame(list(guess(results).items()), schema=["length", "tvd"], orient="row")
    guesses.write_csv(HERE / "guess.csv", float_precision=4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
