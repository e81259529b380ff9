"""Pages in Markdown: tables between marks are made anew, and nothing else."""

from dataclasses import replace
from pathlib import Path

import polars
import pytest

from lengthwise.claims import (
    Claim,
    Estimate,
    Experiment,
    Finding,
    Picture,
    Reproduction,
    Section,
    Table,
    Verdict,
)
from lengthwise.claims.statistics import estimate
from lengthwise.cli.reproduce import print_verdicts
from lengthwise.errors import InputError
from lengthwise.report.files import write_files
from lengthwise.report.markdown import new_page, renewed
from lengthwise.report.page import page


@pytest.fixture
def done() -> Reproduction:
    section = Section(
        "Title", "Introduction.", [Picture("figure-1", "<svg/>", "Caption.", "Alt")], (),
        [
            Table("tvd", "About TVD.", ["a", "b"], [["1", "2"]]),
            Table.of_frame("all", "All.", polars.DataFrame({"x": [1 / 3]})),
        ],
    )  # fmt: skip
    experiment = Experiment("none", lambda scale: {}, lambda results: section)
    findings = (
        Finding("first", Estimate(1.5, 1.2, 1.8, 7, "pairs"), 1.05),
        Finding("second", Estimate(0.5, 0.2, 0.8, 3), 1.05, decides=False),
    )
    claim = Claim("paper/one", "It is so.", "source", experiment, lambda results: findings)
    return Reproduction("quick", (Verdict(claim, findings),), (section,), ())


def test_tables_between_marks_are_made_anew(done: Reproduction) -> None:
    before = (
        "Words <!-- kept -->\n<!-- verdicts -->\noutdated\n<!-- end -->\nmore words\n"
        "<!-- findings one -->\n<!-- end -->\n<!-- table tvd -->\noutdated\n<!-- end -->\nend\n"
    )
    text = renewed(before, done)
    assert text.startswith("Words <!-- kept -->\n<!-- verdicts -->\n| claim |")
    assert "| It is so. | **holds** | first: 1.50 | 1.20 to 1.80 | 7 pairs |" in text
    assert "| second | 0.500 | 0.200 to 0.800 | 3 seeds |" in text
    assert "<!-- table tvd -->\n| a | b |\n|---|---|\n| 1 | 2 |\n<!-- end -->\nend\n" in text
    assert "outdated" not in text
    assert renewed(text, done) == text


def test_whatever_shows_an_estimate_says_what_was_counted(
    done: Reproduction, capsys: pytest.CaptureFixture[str]
) -> None:
    assert page(done, "lengthwise reproduce").count("7 pairs") == 2, "verdict and evidence"
    print_verdicts(done)
    assert "1.50 (1.20 to 1.80, 7 pairs)" in capsys.readouterr().out


@pytest.mark.parametrize("mark", ["findings two", "table three"])
def test_a_mark_of_something_else_is_refused(mark: str, done: Reproduction) -> None:
    with pytest.raises(InputError, match=mark.split()[1]):
        renewed(f"<!-- {mark} -->\n<!-- end -->", done)


def test_a_new_page_shows_everything(done: Reproduction, tmp_path: Path) -> None:
    text = new_page(done)
    for part in ("# Title", "![Alt](figure-1.svg)", "| It is so. |", "| second |", "| 1 | 2 |"):
        assert part in text
    assert "0.333333" not in text, "too long for a page"
    write_files(done, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"figure-1.svg", "tvd.csv", "all.csv", "findings.csv"}
    assert (tmp_path / "all.csv").read_text() == "x\n0.333333\n"
    findings = polars.read_csv(tmp_path / "findings.csv")
    assert findings["unit"].to_list() == ["pairs", "seeds"]
    assert findings["outcome"].to_list() == ["holds", "not deciding"]


def test_tables_of_one_name_stay_apart(done: Reproduction) -> None:
    other = Section("Other", "", [], (), [Table("tvd", "Another.", ["a"], [["9"]])])
    both = replace(done, sections=[*done.sections, other])
    text = new_page(both)
    assert "<!-- table tvd -->\n| a | b |" in text
    assert "<!-- table tvd-2 -->\n| a |\n|---|\n| 9 |" in text


def test_an_effect_of_nothing_is_said_in_words(done: Reproduction) -> None:
    nothing = replace(done.verdicts[0].findings[0], estimate=estimate([], "pairs"))
    verdict = replace(done.verdicts[0], findings=(nothing,))
    text = new_page(replace(done, verdicts=[verdict]))
    assert "| first: none | no interval | 0 pairs |" in text
    assert verdict.to_decide == "none of the pairs counts: first"
