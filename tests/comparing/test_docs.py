"""Every command and snippet of docs/compare.md runs, at a smaller size."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import lengthwise.comparing.built_in as built_in
from lengthwise.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from comparing.small import TINY

    monkeypatch.setitem(built_in.SCALES, "quick", TINY)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    quick, own, others = snippets("sh")
    add, verify = others.splitlines()
    for command in (quick, own):
        assert main([*shlex.split(command)[1:], "--workers", "1"]) == 0
    friend = own.replace("alibi examples/my_remedy.py", "fire").replace("compare/mine", "friend")
    assert main([*shlex.split(friend)[1:], "--workers", "1"]) == 0
    Path("runs/friend").rename("records-of-a-friend")
    for command in (add, verify):
        assert main(shlex.split(command)[1:]) == 0
    (code,) = snippets("python")
    exec(compile(code, "docs/compare.md", "exec"), {"__name__": "__main__"})
    told = capsys.readouterr().out
    assert "4 records added" in told
    assert "same " in told


def test_every_file_the_page_names_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        if not target.startswith("http"):
            assert (ROOT / "docs" / target).exists(), target


def test_what_the_page_says_of_the_quick_scale_is_true() -> None:
    quick = built_in.built_in_study("quick")
    assert (len(quick.entries), len(quick.plans)) == (4, 2)
    assert "four remedies on two tasks" in PAGE
