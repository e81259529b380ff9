"""Every snippet of docs/averaging.md runs, and its picture is the one its script draws."""

import logging
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("transformers")
pytest.importorskip("lightning")

from safetensors.torch import load_file, save_file

from lengthwise.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "averaging.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_python_snippets_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    assert len(snippets("python")) == PAGE.count("```python") > 8
    names: dict[str, object] = {"__name__": "averaging_page"}
    for number, snippet in enumerate(snippets("python"), start=1):
        exec(compile(snippet, f"docs/averaging.md, snippet {number}", "exec"), names)
    assert "first update is at step 400" in capsys.readouterr().out
    # With power 1 and a clock that counts checkpoints they weigh 1/2 and 1/3: the mean of all.
    files = [f"ckpt-{step}.safetensors" for step in (100, 200, 300)]
    mean = torch.stack([load_file(file)["weight"] for file in files]).mean(0)
    torch.testing.assert_close(load_file("mean.safetensors")["weight"], mean)


def test_the_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in (100, 200, 300):
        save_file({"weight": torch.randn(2)}, f"ckpt-{step}.safetensors")
    for snippet in snippets("sh"):
        program, *arguments = shlex.split(snippet.replace("\\\n", " "))
        assert program == "lengthwise"
        assert main(arguments) == 0


def test_every_file_the_page_names_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        if not target.startswith("http"):
            assert (DOCS / target).exists(), target


def test_the_picture_can_be_drawn_again(tmp_path):
    names: dict[str, Any] = {"__name__": "picture", "__file__": str(DOCS / "picture.py")}
    exec(compile((DOCS / "make_averaging_picture.py").read_text(), "picture", "exec"), names)
    names["draw"](tmp_path / "averaging.png")
    assert (tmp_path / "averaging.png").stat().st_size > 10_000
