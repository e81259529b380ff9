"""An extra that is missing is named in one line, with the command that installs it."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = {
    "hf": ("transformers", "accelerate", "peft", "gguf"),
    "lightning": ("lightning", "pytorch_lightning"),
    "ray": ("ray",),
    "optuna": ("optuna",),
}
"""What each extra brings."""

NEEDS = [
    ("hf", "check somewhere/model --lengths 64,128"),
    ("hf", "check smollm2 --lengths 64,128"),
    ("hf", "probe somewhere/model --lengths 64,128"),
    ("hf", "probe smollm2 --lengths 64,128"),
    ("hf", "reproduce vanishing-variance/figure-1 --model somewhere/model"),
    ("ray", "search set-complement --trials 2 --ray local --out search"),
    ("ray", "compare --scale quick --tasks majority --ray local --out study"),
    ("optuna", "search export done --to optuna sqlite:///done.db"),
]
"""Extra, and a command that cannot do without it."""

MODULES = {"hf": "lengthwise.averaging.hugging_face", "lightning": "lengthwise.averaging.lightning"}

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""

EACH = """
from lengthwise.cli import main
for command in {commands}:
    print("##", command, flush=True)
    sys.stderr = sys.stdout
    print("exit code", main(command.split()), flush=True)
"""

SEARCHED = """
from lengthwise.cli import main
import torch
torch.set_num_threads(1)
from pathlib import Path
from lengthwise import recipe_for
from lengthwise.models import MinimalModel
from lengthwise.search import LogUniform, SearchFolder, Space
from lengthwise.tasks import SetComplement
recipe = recipe_for(SetComplement(vocab=4), MinimalModel(), max_train_length=2, steps=2)
space = Space(recipe, {"learning_rate": LogUniform(1e-3, 1e-2)})
SearchFolder.create_or_open(Path("done"), space, 0, [])
"""


def python(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_commands_name_the_extra_that_they_need(tmp_path: Path) -> None:
    """All at once, without any extra; nothing is left behind and nothing is trained."""
    missing = {name for names in PACKAGES.values() for name in names}
    commands = [command for _, command in NEEDS]
    code = WITHOUT.format(missing=missing) + SEARCHED + EACH.format(commands=commands)
    parts = python(code, tmp_path).split("## ")[1:]
    for (extra, command), part in zip(NEEDS, parts, strict=True):
        first, *said = part.strip().splitlines()
        assert first == command
        assert said[-1] == "exit code 2", part
        (line,) = said[:-1]
        assert f"pip install 'lengthwise[{extra}]'" in line, part
        assert "Traceback" not in part


@pytest.mark.slow
@pytest.mark.parametrize("extra", MODULES)
def test_adapters_name_the_extra_that_they_need(extra: str, tmp_path: Path) -> None:
    tried = f"""
try:
    import {MODULES[extra]}
except ImportError as error:
    print(error)
"""
    said = python(WITHOUT.format(missing=set(PACKAGES[extra])) + tried, tmp_path)
    assert f"pip install 'lengthwise[{extra}]'" in said
    assert len(said.splitlines()) == 1
