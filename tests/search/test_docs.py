"""Every snippet of docs/search.md runs."""

import re
import shlex
from pathlib import Path

import pytest

from lengthwise.cli import main

pytest.importorskip("pandas")
pytest.importorskip("optuna")

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "search.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own, reading, same = snippets("python")
    Path("my_space.py").write_text(own, encoding="utf-8")
    code = [line for line in own.splitlines() if line.strip()]
    assert len(code) <= 22, "one's own model in twenty lines or so"
    commands = [line for snippet in snippets("sh") for line in snippet.splitlines()]
    search, run, *exports = commands
    assert search.startswith("lengthwise search set-complement --trials 2000")
    for command in (run, *exports):
        program, *arguments = shlex.split(command)
        assert program == "lengthwise"
        assert main([*arguments, *(["--workers", "1"] if command == run else [])]) == 0
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(reading, "docs/search.md, reading", "exec"), names)
    exec(compile(same, "docs/search.md, python", "exec"), names)
    assert "44 trials" in capsys.readouterr().out


def test_every_file_the_page_names_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        if not target.startswith("http"):
            assert (DOCS / target).exists(), target
