"""What docs/othello.md shows, runs."""

import re
import shlex
from pathlib import Path

import pytest

from lengthwise.cli import main
from lengthwise.cli.train import Train
from lengthwise.models import GPTModel
from lengthwise.models.gpt import SIZES
from lengthwise.othello import stored_games
from lengthwise.runs import RunFolder
from lengthwise.tasks import Othello
from lengthwise.training import Hyperparameters

PAGE = (Path(__file__).parents[2] / "docs" / "othello.md").read_text(encoding="utf-8")
FEW = shlex.split("--layers 1 --heads 1 --width 8 --steps 2 --batch 4 --test-inputs 4")


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
    monkeypatch.setattr(Train, "run", lambda self: found.append(self))
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
    """The long ones are cut short: options that are given again count as given last."""
    monkeypatch.chdir(tmp_path)
    printed = []
    for command in commands():
        short = [word.replace("20_000_000", "2_000") for word in command]
        short += FEW if command[0] == "train" else []
        assert main(short) == 0, capsys.readouterr().err
        printed.append(capsys.readouterr().out)
    assert printed[0] == snippets("text")[0]
    assert sum(map(len, stored_games(tmp_path / "games"))) == 2000
    assert RunFolder.open(Path("runs/othello")).recipe.max_train_length == 29
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
    (averages,) = [one for one in parsed if len(one.hyperparameters.ema_powers) == 3]
    assert len(averages.hyperparameters.bias_powers) == 2


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
    shape = GPTModel(layers=layers, heads=heads, width=width)
    assert SIZES[size] == (layers, heads, width)
    assert (shape == GPTModel()) == (size == "small"), "the default"
    model = shape.build(Othello(), Hyperparameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
