"""What docs/othello.md shows, runs."""

import dataclasses
import re
import shlex
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from lengthwise.cli import main
from lengthwise.cli.train import TrainOthello
from lengthwise.models.gpt import SIZES
from lengthwise.othello import stored_games
from lengthwise.runs import OthelloRecipe, RunFolder
from lengthwise.training import Hyperparameters

PAGE = (Path(__file__).parents[2] / "docs" / "othello.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[list[str]]:
    lines = "".join(snippets("sh")).splitlines()
    assert all(line.startswith("lengthwise ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def options(text: str) -> list[list[str]]:
    return [shlex.split(code) for code in re.findall(r"`(--[^`]+)`", text)]


@pytest.fixture
def parsed(monkeypatch):
    """What `train othello` understands; it trains nothing."""
    found = []
    monkeypatch.setattr(TrainOthello, "run", lambda self: found.append(self))
    return found


def test_the_python_snippets_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "othello_page"}
    for number, snippet in enumerate(snippets("python"), start=1):
        exec(compile(snippet, f"docs/othello.md, snippet {number}", "exec"), names)
    assert number == PAGE.count("```python") > 8
    assert names["position"].legal.bit_count() == 4
    mass = names["target"].sum(-1)
    assert ((mass == 0) | (abs(mass - 1) < 1e-12)).all()
    assert "(1000, 60) (1000, 60)" in capsys.readouterr().out
    assert names["exact"].shape == names["logits"].shape
    assert names["loss"].isfinite()
    assert len(names["boards"]) == 2
    assert Path("few.svg").is_file()


def test_the_commands_run_in_order_and_print_what_the_page_shows(tmp_path, monkeypatch, capsys):
    """The long ones are cut short, after the page's own options were understood."""
    monkeypatch.chdir(tmp_path)
    train = TrainOthello.run

    def train_shortly(self):
        few = {"size": "tiny", "steps": 2, "batch": 4, "test_inputs": 4}
        return train(dataclasses.replace(self, recipe=dataclasses.replace(self.recipe, **few)))

    monkeypatch.setattr(TrainOthello, "run", train_shortly)
    printed = []
    for command in commands():
        short = [word.replace("20_000_000", "2_000") for word in command]
        assert main(short) == 0, capsys.readouterr().err
        printed.append(capsys.readouterr().out)
    assert printed[0] == snippets("text")[0]
    assert sum(map(len, stored_games(tmp_path / "games"))) == 2000
    assert RunFolder.open(Path("runs/othello")).recipe.train_moves == 30
    assert "after 12 (trained)" in printed[-1]
    assert "after 45 (not trained)" in printed[-1]
    assert {path.name for path in tmp_path.iterdir()} == {
        "board.svg", "games", "illegal_mass.svg", "runs",
    }  # fmt: skip


def test_the_options_of_training_that_are_named_exist(parsed, capsys):
    assert main(["train", "othello", "--help"]) == 0
    help = capsys.readouterr().out
    named = options(section("Train") + section("Measure"))
    with_values = [words for words in named if len(words) > 1]
    assert len(with_values) >= 10
    for words in named:
        assert f"{words[0]} " in help, words
    for words in with_values:
        assert main(["train", "othello", *words]) == 0, words
    (averages,) = [found.grid for found in parsed if len(found.grid.ema_powers) == 3]
    assert len(averages.bias_powers) == 2


def test_the_options_of_looking_that_are_named_exist(capsys):
    assert main(["othello", "show", "--help"]) == 0
    help = capsys.readouterr().out
    names = re.findall(r"--[a-z-]+", section("Look"))
    assert len(names) >= 6
    for name in names:
        assert f" {name} " in help


@pytest.mark.parametrize("size", ["original", "small", "tiny"])
def test_the_sizes_are_as_listed(size):
    (row,) = re.findall(rf"^\| {size}.*\|$", PAGE, flags=re.MULTILINE)
    layers, heads, width, parameters = [
        int(cell.replace(",", "")) for cell in row.strip("|").split("|")[1:]
    ]
    model = OthelloRecipe(size=size).model(Hyperparameters())
    assert SIZES[size] == (layers, heads, width)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_every_kind_of_positions_is_explained():
    rows = re.findall(r"^\| ([a-z, ]+)(?: \(as in GPT-1\))? \|", section("Train"), re.MULTILINE)
    explained = {name for row in rows for name in row.split(", ")}
    assert explained >= {*get_args(get_type_hints(OthelloRecipe)["positions"])}
