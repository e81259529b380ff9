"""What docs/othello.md shows, runs."""

import re
import shlex
from pathlib import Path

from lengthwise.cli import main
from lengthwise.othello import stored_games

PAGE = (Path(__file__).parents[2] / "docs" / "othello.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_python_snippets_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "othello_page"}
    for number, snippet in enumerate(snippets("python"), start=1):
        exec(compile(snippet, f"docs/othello.md, snippet {number}", "exec"), names)
    assert number == PAGE.count("```python") > 5
    assert names["position"].legal.bit_count() == 4
    mass = names["target"].sum(-1)
    assert ((mass == 0) | (abs(mass - 1) < 1e-12)).all()
    assert "(1000, 60) (1000, 60)" in capsys.readouterr().out


def test_the_commands_run_and_print_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    show, generate = snippets("sh")
    assert main(shlex.split(show)[1:]) == 0
    assert capsys.readouterr().out == snippets("text")[0]
    assert main(shlex.split(generate.replace("20_000_000", "2_000"))[1:]) == 0
    assert sum(map(len, stored_games(tmp_path / "games"))) == 2000
