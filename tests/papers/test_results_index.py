"""docs/results/README.md lists every claim with the verdict of the committed findings."""

import importlib.util
import re
from pathlib import Path

import pytest

from lengthwise.errors import InputError
from lengthwise.papers import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
specification = importlib.util.spec_from_file_location("index", DOCS / "make_results_index.py")
assert specification
assert specification.loader
index = importlib.util.module_from_spec(specification)
specification.loader.exec_module(index)

HEAD = "claim,verdict,effect,estimate,low,high,count,unit,smallest,outcome"
NAME = "whats-missing/averaging"


def written(folder: Path, *lines: str) -> Path:
    """A folder of results with these findings."""
    (folder / "one").mkdir(exist_ok=True)
    (folder / "one" / "findings.csv").write_text("\n".join([HEAD, *lines]) + "\n")
    return folder


def test_the_page_and_the_readme_are_up_to_date() -> None:
    again = "python docs/make_results_index.py writes it anew"
    found = index.results()
    assert index.PAGE.read_text(encoding="utf-8") == index.page(found), again
    readme = index.README.read_text(encoding="utf-8")
    assert index.readme(readme, found) == readme, again


def test_every_claim_stands_there_once_and_numbers_add_up() -> None:
    text = index.PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("| `", "| [`"))]
    assert len(lines) == len(CLAIMS)
    holds, fails, undecided = (
        sum(f"| **{one}** |" in line for line in lines) for one in ("holds", "fails", "undecided")
    )
    missing = sum(f"| {index.NOT_RUN} |" in line for line in lines)
    assert holds + fails + undecided + missing == len(lines)
    assert f"**{holds} hold, {fails} fail and {undecided} stay undecided**" in text
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        assert (DOCS / "results" / link).exists(), link


def test_the_verdict_hangs_on_the_first_finding_that_says_so(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        f"{NAME},fails,shown,9,8,10,5,seeds,1.05,not deciding",
        f"{NAME},fails,good,2,1.5,2.5,5,seeds,1.05,holds",
        f"{NAME},fails,bad | worse,0.5,0.4,0.6,5,seeds,1.05,fails",
    )
    found = index.results(folder)
    assert found[NAME].effect == "bad | worse: 0.500 (0.400 to 0.600; 5 seeds)"
    line = index.row(CLAIMS[NAME], found[NAME])
    assert line.startswith("| [`averaging`](one/README.md) |")
    assert "bad \\| worse" in line
    assert "1 fail " in index.summary(found, "")
    assert f"{len(CLAIMS) - 1} more are not run yet" in index.summary(found, "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("whats-missing/averagin,holds,x,2,2,2,5,seeds,1,holds", "whats-missing/averaging"),
        (f"{NAME},holds,x,2,1,3,5,seeds,1.5,undecided", "expected 'undecided'"),
        (f"{NAME},holds,x,2,2,2,5,seeds,1,not deciding", "verdict of whats-missing/averaging"),
    ],
)
def test_findings_that_contradict_themselves_are_refused(
    line: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        index.results(written(tmp_path, line))


def test_a_claim_has_one_folder(tmp_path: Path) -> None:
    folder = written(tmp_path, f"{NAME},holds,x,2,2,2,5,seeds,1,holds")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "findings.csv").write_bytes((folder / "one/findings.csv").read_bytes())
    with pytest.raises(InputError, match="in one and in two: expected one folder"):
        index.results(folder)


def test_the_readme_gets_the_summary_between_its_marks() -> None:
    before = "a\n<!-- claims -->\nstale\n<!-- end -->\nb\n<!-- end -->\n"
    after = index.readme(before, {})
    assert after.startswith("a\n<!-- claims -->\nOf 0 claims")
    assert after.endswith("<!-- end -->\nb\n<!-- end -->\n")
    assert "stale" not in after
    assert index.readme("no marks", {}) == "no marks"
