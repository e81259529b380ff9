"""Write the tables and figures of this folder from a finished search.

Run `lengthwise reproduce whats-missing/figure-2 --scale laptop` first, then
`python docs/results/set-complement/make.py runs/reproduce/set-complement-search/laptop`.
The tables of README.md stand between marks and are replaced; its words are not touched.
"""

import sys
from pathlib import Path

from lengthwise.claims import Results
from lengthwise.papers.whats_missing import CLAIMS, figure_1
from lengthwise.papers.whats_missing.search_experiment import SEARCH
from lengthwise.search import SearchFolder

sys.path.insert(0, str(Path(__file__).parents[1]))
from tables import finding_table, replaced, verdict_table, write_findings

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
    write_findings(verdicts, HERE / "findings.csv", "pairs")
    best = figure_1.best_of_families(results).sort("gap", "tvd_beyond")
    names = ["gap", "family", "kind", "tvd_within", "tvd_beyond", "argmax_illegal_beyond"]
    settings = ["extra", "steps", "learning_rate", "final_rate", "weight_decay", "loss"]
    dropouts = ["dropout_embedding", "dropout_weights", "dropout_output"]
    chosen = best.select(*names, "illegal_mass_beyond", "trial", *settings, *dropouts)
    chosen.write_csv(HERE / "best-of-families.csv", float_precision=6)
    readme = HERE / "README.md"
    text = replaced(readme.read_text(encoding="utf-8"), "verdicts", verdict_table(verdicts))
    text = replaced(text, "dropout", finding_table(verdicts, "search-dropout", counted="pairs"))
    text = replaced(
        text, "averaging", finding_table(verdicts, "search-ema", "search-bema", counted="pairs")
    )
    text = replaced(text, "norm", finding_table(verdicts, "search-post-norm", counted="pairs"))
    text = replaced(
        text, "combination", finding_table(verdicts, "search-combination", counted="pairs")
    )
    text = replaced(
        text, "figures", finding_table(verdicts, "figure-1", "figure-2", counted="pairs")
    )
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
