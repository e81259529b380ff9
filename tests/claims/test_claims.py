"""Verdicts, what is kept with results, and where claims are found."""

import importlib
from pathlib import Path

import pytest

from lengthwise.claims import (
    Claim,
    Estimate,
    Experiment,
    Finding,
    Results,
    Section,
    claims_of_file,
    claims_of_package,
    estimate,
    once,
    reproduce,
)
from lengthwise.errors import InputError


def test_one_seed_decides_nothing() -> None:
    finding = Finding("effect", estimate([100.0]), smallest=0.0)
    assert finding.outcome == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(1.1, 2.0, "holds"), (0.5, 0.9, "fails"), (0.9, 1.2, "undecided"), (1.0, 1.2, "undecided")],
)
def test_an_outcome_needs_the_whole_interval(low: float, high: float, outcome: str) -> None:
    assert Finding("effect", Estimate((low + high) / 2, low, high, 8), 1.0).outcome == outcome


def findings(*outcomes: tuple[str, bool]) -> list[Finding]:
    bounds = {"holds": (2.0, 3.0), "fails": (0.1, 0.2), "undecided": (0.5, 2.0)}
    return [
        Finding(outcome, Estimate(1.0, *bounds[outcome], 8), 1.0, decides=decides)
        for outcome, decides in outcomes
    ]


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([("holds", True)], "holds"),
        ([("holds", True), ("undecided", True)], "undecided"),
        ([("holds", True), ("fails", True)], "fails"),
        ([("holds", True), ("fails", False)], "holds"),
        ([("undecided", True), ("holds", False)], "undecided"),
    ],
)
def test_a_claim_rests_on_all_that_decides(given: list[tuple[str, bool]], verdict: str) -> None:
    assert a_claim(*findings(*given)).judge(Results("quick", {}, {}, Path())).outcome == verdict


def a_claim(*given: Finding, name: str = "paper/claim", experiment: str = "none") -> Claim:
    nothing = Experiment(experiment, lambda scale: {}, lambda results: Section("", "", (), ()))
    return Claim(name, "Sentence.", "source", nothing, lambda _: given)


def test_what_is_computed_once_is_kept_with_its_results() -> None:
    calls = []

    @once
    def double(results: Results, number: int) -> int:
        calls.append(number)
        return 2 * number

    first, second = (Results("quick", {}, {}, Path()) for _ in range(2))
    assert [double(first, 1), double(first, 1), double(first, 2), double(second, 1)] == [2, 2, 4, 2]
    assert calls == [1, 2, 1], "other results compute anew"


def test_two_experiments_of_one_name_are_refused(tmp_path: Path) -> None:
    claims = [a_claim(name=f"paper/{number}") for number in range(2)]
    with pytest.raises(InputError, match="experiment = 'none'"):
        reproduce(claims, "quick", tmp_path, [], lambda progress: None)


FILE = """
from lengthwise.claims import Claim, Estimate, Experiment, Finding, Section

NOTHING = Experiment("own", lambda scale: {}, lambda results: Section("Mine", "", (), ()))

def evidence(results):
    return [Finding("effect", Estimate(2.0, 1.5, 2.5, 7, "pairs"), 1.0)]

LATER = Claim("mine/later", "Later.", "ours", NOTHING, evidence, place=2)
FIRST = Claim("mine/first", "First.", "ours", NOTHING, evidence, place=1)
"""


def test_claims_of_a_file_come_in_order_and_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "my_claim.py"
    path.write_text(FILE)
    claims = claims_of_file(path)
    assert list(claims) == ["mine/first", "mine/later"]
    done = reproduce(list(claims.values()), "quick", tmp_path, [], lambda progress: None)
    assert [verdict.outcome for verdict in done.verdicts] == ["holds", "holds"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "a file that defines a Claim"),
        ("1 / 0", "ZeroDivisionError"),
        (
            FILE.replace("mine/first", "mine/later"),
            "claim = 'mine/later': expected a name that no other",
        ),
    ],
)
def test_a_file_without_usable_claims_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my_claim.py"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        claims_of_file(path)
    with pytest.raises(InputError, match="Python file"):
        claims_of_file(tmp_path / "absent.py")


def test_claims_of_a_package_are_found_in_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "some_papers" / "paper" / "experiment"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parents[1]):
        (package / "__init__.py").touch()
    (folder / "one.py").write_text(FILE)
    (folder / "two.py").write_text(f"from {folder.parents[1].name}.paper.experiment.one import *")
    monkeypatch.syspath_prepend(tmp_path)
    found = claims_of_package(importlib.import_module("some_papers"))
    assert list(found) == ["mine/first", "mine/later"], "a claim that is imported counts once"
