"""Every file of `examples/` is used as a user's own file, outside the package, and then deleted."""

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from lengthwise import load_model
from lengthwise.claims import Reproduction
from lengthwise.cli import main
from lengthwise.progress import Report
from lengthwise.runs import RunFolder, execute
from lengthwise.testing import ModelConformance, RemedyConformance, TaskConformance

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PAGES = sorted((ROOT / "docs").glob("add-a-*.md"))
FEW = shlex.split("--steps 20 --batch 4 --seeds 2 --test-inputs 8")
GPT = shlex.split("--layers 1 --heads 2 --width 8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of the user's, with the examples in it."""
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "task", "model", "length"),
    [
        (["my_task.py", "--model", "gpt", "--remedies", "rotary", "my_remedy.py", *GPT],
         "my-parity", "gpt", 40),
        (["my_task.py", "--longest", "12", "--model", "my_model.py"],
         "my-parity", "my-running-mean", 12),
        (["set-complement", "--vocab", "6", "--model", "my_model.py", "--width", "8"],
         "set-complement", "my-running-mean", 5),
        (["set-complement", "--vocab", "6", "--remedies", "my_remedy.py", "layernorm"],
         "set-complement", "minimal", 5),
    ],
)  # fmt: skip
def test_a_run_of_users_files_outlives_them(
    arguments: list[str],
    task: str,
    model: str,
    length: int,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", *arguments, *FEW, "--out", "run"]) == 0
    run = RunFolder.open(Path("run"))
    assert (run.recipe.task.name, run.recipe.model.name) == (task, model)
    table = run.table()
    assert table["length"].max() == length
    tokens = torch.tensor([[0, 1, 1, 0]])
    expected = load_model(Path("run"), 1)(tokens)
    (folder / "run/measures.parquet").unlink()  # as if it had been stopped before
    for file in folder.glob("*.py"):
        file.unlink()
    assert main(["resume", "run"]) == 0
    assert RunFolder.open(Path("run")).table().equals(table)
    capsys.readouterr()
    assert main(["show", "run"]) == 0
    assert "2 models" in capsys.readouterr().out
    assert torch.equal(load_model(Path("run"), 1)(tokens), expected)


def test_a_claim_of_ones_own_gives_a_page_with_its_figure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "my_claim.py"]) == 0
    out = capsys.readouterr().out
    assert "mine/alibi: mean TVD beyond the training length, learned positions / ALiBi" in out
    results = folder / "runs/reproduce"
    page = (results / "my_claim-quick.html").read_text()
    assert "ALiBi lowers TVD beyond the training length of a small GPT." in page
    assert "<svg" in page
    assert "<svg" in (results / "my_claim-quick-alibi.svg").read_text()
    assert "mine/alibi" in (results / "my_claim-quick-findings.csv").read_text()
    judged = ["report", "runs/reproduce/my-alibi/quick", "--claims", "my_claim.py"]
    assert main([*judged, "--markdown", "mine.md"]) == 0
    assert "ALiBi lowers TVD" in Path("mine.md").read_text()


class TestMyTask(TaskConformance):
    tasks = (str(EXAMPLES / "my_task.py"),)


class TestMyRemedy(RemedyConformance):
    remedies = (str(EXAMPLES / "my_remedy.py"), ("rotary", str(EXAMPLES / "my_remedy.py")))


class TestMyModel(ModelConformance):
    models = (str(EXAMPLES / "my_model.py"),)


def execute_here(paths: Sequence[Path], report: Report) -> None:
    for path in paths:
        execute(RunFolder.open(path), report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_snippets_of_a_page_run(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first as a user's file by the command line, all as Python."""
    monkeypatch.chdir(ROOT)  # pages name files of the repository
    # Without starting processes: the test of the claim above starts them.
    monkeypatch.setattr(sys.modules[Reproduction.__module__], "execute_all", execute_here)
    first, *others = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    mine = tmp_path / "mine.py"
    mine.write_text(first, encoding="utf-8")
    out = ["--out", str(tmp_path / "run")]
    few = [*FEW, *out]
    command = {
        "add-a-task": ["train", str(mine), "--model", "gpt", *GPT, *few],
        "add-a-remedy": ["train", "set-complement", "--remedies", str(mine), *few],
        "add-a-model": ["train", "set-complement", "--model", str(mine), *few],
        "add-a-claim": ["reproduce", str(mine), *out],
    }[page.stem]
    assert main(command) == 0
    for snippet in others:
        names: dict[str, Any] = {"__name__": "page"}
        exec(compile(snippet, page.name, "exec"), names)
        suite = names["TestMine"]
        (checked,) = (value for name, value in vars(suite).items() if not name.startswith("_"))
        assert checked[0] == f"examples/my_{page.stem.removeprefix('add-a-')}.py"
        assert suite.__mro__[1] in (TaskConformance, RemedyConformance, ModelConformance)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"^lengthwise (.+)$", page.read_text(), flags=re.MULTILINE)
    assert commands
    for number, command in enumerate(commands):
        words = shlex.split(command)
        if words[0] == "train":
            small = GPT if "othello" in words or "gpt" in words else []
            small = [] if "examples/my_model.py" in words else small
            assert main([*words, *small, *FEW, "--out", str(tmp_path / str(number))]) == 0
        if words[0] == "remedies":
            assert main(words) == 0


def test_every_example_has_its_page() -> None:
    for file in EXAMPLES.glob("*.py"):
        page = ROOT / "docs" / f"add-a-{file.stem.removeprefix('my_')}.md"
        assert f"(../examples/{file.name})" in page.read_text()


def test_an_example_that_a_page_shows_whole_is_the_example() -> None:
    page = (ROOT / "docs/add-a-remedy.md").read_text()
    code = (EXAMPLES / "my_remedy.py").read_text().partition("\n\n")[2]
    assert code in page
