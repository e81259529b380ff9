"""Experiments whose runs start from others of the plan, and what is said where that cannot be."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lengthwise.claims import Claim, claims_of_file, reopen, reproduce
from lengthwise.cli import main
from lengthwise.runs import RunFolder, execute
from lengthwise.runs.models import load_trainer

CLAIM = '''
from lengthwise.claims import Claim, Estimate, Experiment, Finding, PlannedRun, Section
from lengthwise.models import GPTModel
from lengthwise.runs import recipe_for
from lengthwise.training import Hyperparameters

SIZES = {"layers": 1, "heads": 1, "width": 8}
SETTINGS = {"max_train_length": 4, "batch": 4, "test_inputs": 10, "test_lengths": (2, 6)}


def plan(scale):
    models = tuple(Hyperparameters(seed=seed) for seed in range(2))
    def run(remedies, **start):
        recipe = recipe_for(
            "mode", GPTModel(**SIZES, remedies=remedies), steps=STEPS, **SETTINGS, **start
        )
        return PlannedRun(recipe, models)
    return {
        "converted": run(("t2r:features=4",), start_from=START),  # before what it starts from
        "softmax": run(("none",)),
        "scratch": run(("t2r:features=4",)),
    }


def evidence(results):
    return [Finding("effect", Estimate(1.0, 1.0, 1.0, 2), 0.5)]


MINE = Claim(
    "mine/start", "It starts.", "ours",
    Experiment("start", plan, lambda results: Section("Mine", "Words.", (), ())), evidence,
)
'''  # fmt: skip


def claim(folder: Path, start: str = "softmax", steps: int = 3, text: str = CLAIM) -> Path:
    path = folder / f"claim_{len(list(folder.glob('claim_*')))}.py"
    path.write_text(f"START = {start!r}\nSTEPS = {steps}\n{text}", encoding="utf-8")
    return path


def test_a_run_starts_from_another_one_of_the_plan(tmp_path: Path) -> None:
    claims = list(claims_of_file(claim(tmp_path)).values())
    done = reproduce(claims, "quick", tmp_path / "out")
    place = tmp_path / "out" / "start" / "quick"
    assert {folder.path for folder in done.folders} == set(place.iterdir())
    converted, softmax, scratch = (
        RunFolder.open(place / label) for label in ("converted", "softmax", "scratch")
    )
    trained = load_trainer(softmax).fleet.views()
    # The same by hand, without the claim's machinery.
    recipe = replace(converted.recipe, start_from=str(place / "softmax"))
    begun = recipe.trainer(converted.hyperparameters).fleet.views()
    assert all(torch.equal(begun[name], trained[name]) for name in trained if name in begun)
    other = RunFolder.create(tmp_path / "hand", recipe, converted.hyperparameters, [])
    execute(other)
    assert other.table().equals(converted.table())
    assert not scratch.table().equals(converted.table())
    # Moved together they are the same runs.
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    assert len(reopen(claims, "quick", tmp_path / "elsewhere").folders) == 3


def made(claim: Claim, label: str, place: Path) -> RunFolder:
    """A run of a claim's plan by itself."""
    run = claim.experiment.plan("quick")[label]
    return RunFolder.create(place / label, run.recipe, run.hyperparameters, [])


def run(capsys: pytest.CaptureFixture[str], path: Path, out: Path) -> str:
    """The one line that `reproduce` says, with exit code 2."""
    assert main(["reproduce", str(path), "--out", str(out)]) == 2
    said = capsys.readouterr()
    (line,) = said.err.strip().splitlines()
    assert "Traceback" not in said.out + said.err
    return line


def test_a_start_run_of_another_recipe_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    place = out / "start" / "quick"
    (before,) = claims_of_file(claim(tmp_path, steps=2)).values()
    made(before, "softmax", place)
    line = run(capsys, claim(tmp_path), out)
    assert "softmax" in line
    assert "other settings" in line
    assert sorted(path.name for path in place.iterdir()) == ["softmax"], "nothing was trained"


@pytest.mark.parametrize("start", ["nowhere", "converted"])
def test_a_start_run_that_cannot_be_is_named(
    start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = run(capsys, claim(tmp_path, start=start), tmp_path / "out")
    assert start in line


def test_a_start_run_with_other_models_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wider = CLAIM.replace('"width": 8', '"width": 12')
    (before,) = claims_of_file(claim(tmp_path, text=wider)).values()
    execute(made(before, "softmax", tmp_path / "other"))
    start = str(tmp_path / "other" / "softmax")
    line = run(capsys, claim(tmp_path, start=start), tmp_path / "out")
    assert start in line
    assert "shape" in line


def test_a_missing_model_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = CLAIM.replace("GPTModel(**SIZES, remedies=remedies)", '"not_there.py"')
    line = run(capsys, claim(tmp_path, text=text), tmp_path / "out")
    assert "not_there.py" in line
