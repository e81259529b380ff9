"""Code inside somebody else's run folder or checkpoint does not run before the user trusts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lengthwise import load_model, save_model
from lengthwise.cli import main
from lengthwise.models import MinimalModel
from lengthwise.runs import RunFolder, recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters
from lengthwise.trust import require_trusted, trust

REMEDY = """
from pathlib import Path
from lengthwise import Remedy, remedy

Path({mark!r}).touch()  # running it leaves a mark

@remedy("mine")
class Mine(Remedy):
    by_multiset = True
"""


@pytest.fixture
def foreign(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A run folder and a checkpoint that another process made, and the mark of their code."""
    mark, file = tmp_path / "mark", tmp_path / "mine.py"
    file.write_text(REMEDY.format(mark=str(mark)), encoding="utf-8")
    made = f"""
from pathlib import Path
from lengthwise import Hyperparameters, recipe_for, save_model
from lengthwise.models import MinimalModel
from lengthwise.runs import RunFolder
from lengthwise.tasks import SetComplement
model = MinimalModel(remedies=({str(file)!r},))
recipe = recipe_for(SetComplement(5), model, max_train_length=2, steps=1, test_inputs=4)
RunFolder.create(Path({str(tmp_path / "run")!r}), recipe, [Hyperparameters()], ["made"])
save_model(recipe.build(Hyperparameters()), Path({str(tmp_path / "model.safetensors")!r}))
"""
    elsewhere = os.environ | {"XDG_STATE_HOME": str(tmp_path / "theirs")}
    subprocess.run([sys.executable, "-c", made], check=True, env=elsewhere)
    assert mark.exists()
    mark.unlink()
    file.unlink()
    return tmp_path / "run", tmp_path / "model.safetensors", mark


def test_code_that_came_along_runs_only_after_trust(
    foreign: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, checkpoint, mark = foreign
    for command in ("show", "resume", "certify"):
        assert main([command, str(run)]) == 2
        error = capsys.readouterr().err
        assert "mine.py@" in error
        assert "lengthwise trust" in error
        assert len(error.splitlines()) == 1
    with pytest.raises(ValueError, match="lengthwise trust"):
        load_model(checkpoint)
    assert main(["trust", str(run)]) == 0
    assert "class Mine(Remedy)" in capsys.readouterr().out
    assert main(["show", str(run)]) == 2, "reading is not trusting"
    assert not mark.exists(), "nothing has run it"

    assert main(["trust", str(checkpoint), "--yes"]) == 0
    assert not mark.exists(), "nor does trusting"
    assert main(["resume", str(run)]) == 0
    assert mark.exists()
    load_model(checkpoint)


def test_a_changed_text_is_not_the_trusted_one(foreign: tuple[Path, Path, Path]) -> None:
    run, _, mark = foreign
    assert main(["trust", str(run), "--yes"]) == 0
    description = json.loads((run / "run.json").read_text())
    files = description["recipe"]["files"]
    description["recipe"]["files"] = {key: text + "\n# more\n" for key, text in files.items()}
    (run / "run.json").write_text(json.dumps(description))
    assert main(["show", str(run)]) == 2
    assert not mark.exists()


def test_a_home_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LENGTHWISE_TRUSTED", "")
    trust("x = 1")
    require_trusted({"mine.py@1": "x = 1"})
    asked = "from lengthwise.trust import require_trusted; require_trusted({'mine.py@1': 'x = 1'})"
    subprocess.run([sys.executable, "-c", asked], check=True)


def test_what_the_home_knows_is_handed_on_as_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that this one starts, on another machine maybe, may have another home."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    for _ in range(2):  # the second time, the file in the home knows the text
        monkeypatch.setenv("LENGTHWISE_TRUSTED", "")
        trust("x = 1\n")
    assert len((tmp_path / "one" / "lengthwise" / "trusted").read_text().split()) == 1
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    require_trusted({"mine.py@0": "x = 1\n"})


def test_what_holds_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = recipe_for(SetComplement(5), MinimalModel(), max_train_length=2, steps=1)
    RunFolder.create(tmp_path / "run", recipe, [Hyperparameters()], ["made"])
    save_model(recipe.build(Hyperparameters()), tmp_path / "model.safetensors")
    for path in ("run", "model.safetensors"):
        assert main(["trust", str(tmp_path / path)]) == 0
        assert "holds no code" in capsys.readouterr().out
    (tmp_path / "text").write_text("no checkpoint")
    assert main(["trust", str(tmp_path / "text")]) == 2
    assert main(["trust", str(tmp_path / "absent")]) == 2
