"""A user's task, model and remedy in files of their own: kept in the run, needed no more."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_tasks import Parity

from lengthwise.errors import InputError
from lengthwise.models import GPTModel
from lengthwise.registry import MODELS, TASKS
from lengthwise.runs import (
    Interrupted,
    RunFolder,
    execute,
    load_model,
    recipe_for,
    recipe_from_json,
    recipe_to_json,
    save_model,
)
from lengthwise.training import Hyperparameters

TASK = '''
from dataclasses import dataclass
from torch.nn import functional
from lengthwise.randomness import bits
from lengthwise.tasks import Batch, TokenTask, task

@task("first-token")
@dataclass(frozen=True)
class FirstToken(TokenTask):
    """Name the first token."""

    most: int = 6

    @property
    def classes(self): return 3

    @property
    def lengths(self): return range(2, self.most + 1)

    def draw(self, key, length, count):
        words = bits(key, count * 8).unflatten(-1, (count, 8))[..., :length]
        tokens = (words.long() % 3 + 3) % 3
        return Batch(tokens, tokens[..., 0])

    def targets(self, inputs):
        return functional.one_hot(inputs[..., 0], 3).float()
'''
MODEL = '''
from dataclasses import dataclass
from torch import nn
from lengthwise.models import Model, model
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies._chain import Chain
from lengthwise.models.attention import Attention
from lengthwise.randomness import where

class Net(nn.Module):
    def __init__(self, classes, width, remedies):
        super().__init__()
        shape = Shape(width, 1, width, width, 0, 6, 6)
        chain = Chain(remedies, shape, where())
        self.embedding = nn.Embedding(classes, width)
        self.attention = Attention(width, remedies=chain.of_layer(0))
        self.answer = nn.Linear(width, classes)

    def forward(self, tokens):
        hidden = self.embedding(tokens)
        read = Keys(hidden.new_zeros(1, 1))
        return self.answer(self.attention(hidden, hidden, read)[..., -1, :])

@model("my-net")
@dataclass(frozen=True, kw_only=True)
class MyNet(Model):
    """A small net."""

    width: int = 4

    def build(self, task, hyperparameters, max_train_length=None):
        return Net(task.classes, self.width, self.remedies)
'''
REMEDY = '''
import torch
from torch import nn
from lengthwise.remedies import Remedy, remedy

@remedy("my-gain")
class Gain(Remedy):
    """A gain behind attention."""

    def __init__(self, shape, start: float = 1.0):
        super().__init__(shape)
        self.gain = nn.Parameter(torch.full((shape.width,), start))

    def output(self, output):
        return output * self.gain
'''
EVERY = [Hyperparameters(seed=seed) for seed in range(2)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for name, text in (("task", TASK), ("model", MODEL), ("remedy", REMEDY)):
        made[name] = tmp_path / f"my_{name}.py"
        # Other text in every test, so that no test finds what another one has made known.
        made[name].write_text(f"{text}\n# {tmp_path}\n")
    return made


def recipe_of(files: dict[str, Path]):
    model = MODELS.get(str(files["model"]))(remedies=(f"{files['remedy']}:start=0.5",))
    return recipe_for(
        TASKS.get(str(files["task"]))(most=5), model, max_train_length=4, min_train_length=2,
        steps=8, batch=4, test_inputs=10,
    )  # fmt: skip


FRESH = """
import sys
from pathlib import Path
import torch
from lengthwise.runs import RunFolder, execute, load_model
torch.set_num_threads(1)
path, saved = map(Path, sys.argv[1:])
execute(RunFolder.open(path))
model = load_model(path)
assert type(model).__name__ == "Net" and type(load_model(saved)).__name__ == "Net"
print(model(torch.tensor([[0, 1, 2]])).tolist())
"""


def test_train_delete_resume_elsewhere_and_load(files: dict[str, Path], tmp_path: Path) -> None:
    recipe = recipe_of(files)
    whole = RunFolder.create(tmp_path / "whole", recipe, EVERY, ["test"])
    broken = RunFolder.create(tmp_path / "broken", recipe, EVERY, ["test"])
    execute(whole)
    asked = iter(range(1, 100))
    with pytest.raises(Interrupted):
        execute(broken, stop=lambda: next(asked) == 3)
    save_model(load_model(broken.path), tmp_path / "model.safetensors")
    for path in files.values():
        path.unlink()
    command = [sys.executable, "-c", FRESH, broken.path, tmp_path / "model.safetensors"]
    result = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert result.returncode == 0, result.stderr
    assert broken.table().equals(whole.table())
    ends = [folder.checkpoints()[-1].read_bytes() for folder in (whole, broken)]
    assert ends[0] == ends[1]
    expected = load_model(whole.path)(torch.tensor([[0, 1, 2]])).tolist()
    assert eval(result.stdout) == expected
    names = [name for name, _ in load_model(whole.path).named_parameters()]
    assert "attention.remedies.0.gain" in names


def test_json_and_pickle_carry_the_files(files: dict[str, Path]) -> None:
    recipe = recipe_of(files)
    values = recipe_to_json(recipe)
    assert len(values["files"]) == 3
    assert recipe_from_json(values) == recipe
    (key,) = recipe.model.remedies
    assert key.startswith("my_remedy.py@")
    assert key.endswith(":start=0.5")


def test_what_is_defined_elsewhere_trains_but_is_not_kept(tmp_path: Path) -> None:
    """The old code wrote a folder first and failed then, and the next try failed differently."""
    recipe = recipe_for(Parity(), GPTModel(layers=1, heads=1, width=8), steps=2, batch=2)
    trainer = recipe.trainer(EVERY)
    trainer.run()
    assert trainer.loss.isfinite().all()
    for _ in range(2):
        with pytest.raises(InputError, match="task = 'parity-at-the-end': cannot be kept"):
            RunFolder.create(tmp_path / "run", recipe, EVERY, ["test"])
        assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="cannot be kept"):
        save_model(trainer.fleet.model(0), tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []
