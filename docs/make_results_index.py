"""Write `results/README.md`: every claim of every paper with its verdict, effect and interval.

Verdicts come from the files results/*/findings.csv, which `lengthwise report` writes beside a page.
The summary also goes between `<!-- claims -->` and `<!-- end -->` of the project's README.md.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars

from lengthwise.claims import Claim
from lengthwise.errors import InputError, require_name
from lengthwise.files import write_text
from lengthwise.papers import CLAIMS
from lengthwise.report.numbers import interval, number

RESULTS = Path(__file__).parent / "results"
PAGE = RESULTS / "README.md"
README = Path(__file__).parents[1] / "README.md"
MARKS = re.compile(r"(<!-- claims -->\n).*?(<!-- end -->)", re.DOTALL)

NOT_RUN = "not run yet"

BEGINNING = """\
# All claims and their verdicts

*Written by `docs/make_results_index.py` out of the `findings.csv` of every folder here.*

{summary}

An effect stands with its 95 % interval and over how many of what it was taken. It is the one that
the verdict hangs on: a claim **holds** if all that it rests on lies above the smallest effect that
matters, **fails** if any of it lies below, and is **undecided** otherwise; the first finding that
says so is shown. The pages behind the links have all of them, the settings, and what was changed
after a look. `lengthwise reproduce CLAIM` runs a claim, also one that is not run yet.
"""


@dataclass(frozen=True)
class Result:
    """What the committed findings say of one claim."""

    verdict: str
    folder: str
    effect: str
    """The finding that the verdict hangs on, with its interval."""


def results(folder: Path = RESULTS) -> dict[str, Result]:
    """The results of all claims that have any, by name.

    Raises:
        InputError: A file names a claim that does not exist, a claim has findings in two folders,
            or its verdict is not what its findings say.
    """
    found: dict[str, Result] = {}
    for path in sorted(folder.glob("*/findings.csv")):
        table = polars.read_csv(path)
        for (name,), rows in table.group_by("claim", maintain_order=True):
            require_name(str(name), CLAIMS, f"claim of {path.parent.name}/findings.csv")
            if name in found:
                raise InputError(
                    f"claim = {name!r}: has findings in {found[str(name)].folder} and in "
                    f"{path.parent.name}: expected one folder"
                )
            found[str(name)] = _result(str(name), rows, path.parent.name)
    return found


def _result(name: str, rows: polars.DataFrame, folder: str) -> Result:
    outcomes = [one for one in rows["outcome"] if one != "not deciding"]
    said = next((one for one in ("fails", "undecided") if one in outcomes), "holds")
    (verdict,) = rows["verdict"].unique() if rows["verdict"].n_unique() == 1 else ("several",)
    if verdict != said or not outcomes:
        raise InputError(
            f"verdict of {name} in {folder}/findings.csv = {verdict!r}: expected {said!r}, which "
            "its findings say"
        )
    one = rows.filter(polars.col("outcome") == verdict).row(0, named=True)
    effect = (
        f"{one['effect']}: {number(one['estimate'])} ({interval(one['low'], one['high'])}; "
        f"{one['count']} {one['unit']})"
    )
    return Result(verdict, folder, effect)


def summary(found: Mapping[str, Result], link: str) -> str:
    """How many claims hold, fail and stay undecided, in one paragraph."""
    counts = Counter(one.verdict for one in found.values())
    papers = len({CLAIMS[name].paper for name in found})
    missing = len(CLAIMS) - len(found)
    rest = f" {missing} more are {NOT_RUN}." if missing else ""
    return (
        f"Of {len(found)} claims that were tested here, **{counts['holds']} hold, "
        f"{counts['fails']} fail and {counts['undecided']} stay undecided**; they come from "
        f"{papers} papers, or are questions that these raise.{rest}{link}"
    )


def row(claim: Claim, result: Result | None) -> str:
    """A claim's line of its paper's table."""
    short = claim.name.removeprefix(f"{claim.paper}/")
    if result is None:
        return f"| `{short}` | {claim.sentence} | {NOT_RUN} | |"
    name = f"[`{short}`]({result.folder}/README.md)"
    return f"| {name} | {claim.sentence} | **{result.verdict}** | {_cell(result.effect)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(found: Mapping[str, Result]) -> str:
    """The whole page."""
    parts = [BEGINNING.format(summary=summary(found, ""))]
    for paper in dict.fromkeys(claim.paper for claim in CLAIMS.values()):
        own = [claim for claim in CLAIMS.values() if claim.paper == paper]
        number_of = " ".join(dict.fromkeys(re.findall(r"\d{4}\.\d{5}", own[0].source)))
        arxiv = f" ([arXiv {number_of}](https://arxiv.org/abs/{number_of}))" if number_of else ""
        lines = [row(claim, found.get(claim.name)) for claim in own]
        head = "| claim | sentence | verdict | what it hangs on |\n|---|---|---|---|"
        parts.append("\n".join([f"## {paper}{arxiv}\n", head, *lines]) + "\n")
    return "\n".join(parts)


def readme(text: str, found: Mapping[str, Result]) -> str:
    """The project's README with the summary between its marks, if it has them."""
    words = summary(found, " [All verdicts](docs/results/README.md).")
    return MARKS.sub(lambda marks: f"{marks[1]}{words}\n{marks[2]}", text)


def main() -> None:
    """Write the page, and the summary into the README."""
    found = results()
    write_text(PAGE, page(found))
    write_text(README, readme(README.read_text(encoding="utf-8"), found))
    print(summary(found, ""))


if __name__ == "__main__":
    main()
