"""The claims about remedies on real, small runs; and a page that asks nothing of the network."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lengthwise.claims import PlannedRun, Reproduction, Scale, reproduce
from lengthwise.errors import InputError
from lengthwise.papers import CLAIMS, find_claims
from lengthwise.papers.whats_missing.remedies import what_training_finds
from lengthwise.papers.whats_missing.remedies.dispersion import DISPERSION
from lengthwise.papers.whats_missing.remedies.plan import plan
from lengthwise.papers.whats_missing.remedies.section import REMEDIES
from lengthwise.report.page import page
from lengthwise.tasks import SetComplement


def small_plan(scale: Scale) -> dict[str, PlannedRun]:
    """The real experiment, made small: eight tokens, three seeds, some hundred steps."""
    return {
        label: PlannedRun(
            replace(
                run.recipe, task=SetComplement(8), model=replace(run.recipe.model, extra_width=2),  # type: ignore[call-arg]
                max_train_length=4, steps=700, test_inputs=300,
            ),
            run.hyperparameters[:3],
        )
        for label, run in plan(scale).items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def done(out: Path) -> Reproduction:
    experiment = replace(REMEDIES, plan=small_plan)
    claims = [
        replace(claim, experiment=experiment)
        for claim in find_claims("whats-missing")
        if claim.experiment == REMEDIES
    ]
    return reproduce(claims, "quick", out, ["lengthwise", "test"], lambda progress: None)


def test_dispersion_shows_even_in_small_models(done: Reproduction) -> None:
    verdicts = {verdict.claim.name: verdict for verdict in done.verdicts}
    assert list(verdicts) == [
        "whats-missing/dispersion",
        "whats-missing/averaging",
        "whats-missing/post-norm",
        "whats-missing/what-training-finds",
    ]
    assert verdicts["whats-missing/dispersion"].outcome == "holds"
    assert verdicts["whats-missing/dispersion"].headline.estimate.count == 3


def test_training_comes_near_the_theorem_even_in_small_models(done: Reproduction) -> None:
    findings = done.verdicts[3].findings
    assert all(finding.estimate.count == 3 for finding in findings)
    assert 0.5 < findings[1].estimate.mean <= 1, "most of B and D has the lemma's form"


def test_certificates_are_computed_once(done: Reproduction, out: Path, monkeypatch) -> None:
    asked = []
    certify = what_training_finds.certify  # type: ignore[attr-defined]
    monkeypatch.setattr(
        what_training_finds, "certify", lambda model: asked.append(model) or certify(model)
    )
    experiment = replace(REMEDIES, plan=small_plan)
    claim = replace(what_training_finds.WHAT_TRAINING_FINDS, experiment=experiment)
    again = reproduce([claim], "quick", out, [], lambda progress: None)
    assert len(asked) == 3 * len(what_training_finds.KINDS), "for findings and figure together"
    assert again.verdicts[0].findings == done.verdicts[3].findings


def test_the_same_command_uses_what_is_there(out: Path, done: Reproduction) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    claims = [replace(DISPERSION, experiment=replace(REMEDIES, plan=small_plan))]
    again = reproduce(claims, "quick", out, [], lambda progress: None)
    assert again.verdicts[0].findings == done.verdicts[0].findings
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}


def test_runs_of_other_settings_are_refused(out: Path, done: Reproduction) -> None:
    with pytest.raises(InputError, match="other settings"):
        reproduce([DISPERSION], "quick", out, [], lambda progress: None)


class References(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "iframe", "img")
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "data") and value:
                self.found.append(value)


def test_no_request_leaves_the_page(done: Reproduction) -> None:
    text = page(done, "lengthwise reproduce whats-missing")
    parser = References()
    parser.feed(text)
    assert all(reference.startswith(("#", "data:")) for reference in parser.found)
    assert not re.search(r"url\((?!\"?#)|@import", text)
    for verdict in done.verdicts:
        assert verdict.claim.sentence in text
    assert "lengthwise reproduce whats-missing" in text
    assert "0-2 (3)" in text, "the seeds are named"
    assert text.count("<figure") == 4


def test_names_of_claims() -> None:
    assert all(name == claim.name for name, claim in CLAIMS.items())
    assert find_claims("whats-missing/averaging")[0].name == "whats-missing/averaging"
    with pytest.raises(InputError, match="did you mean 'whats-missing/averaging'"):
        find_claims("whats-missing/averagin")


@pytest.mark.slow
def test_the_claims_hold_at_quick_scale(tmp_path: Path) -> None:
    claims = [c for c in find_claims("whats-missing") if c.experiment == REMEDIES]
    done = reproduce(claims, "quick", tmp_path, [], lambda progress: None)
    assert [verdict.outcome for verdict in done.verdicts] == ["holds"] * 4
    assert all(verdict.headline.estimate.count >= 8 for verdict in done.verdicts)
