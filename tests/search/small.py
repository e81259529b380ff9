"""A search so small that a trial takes milliseconds, for all tests of searches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.executors import Done
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LogUniform, Sometimes, Space, Uniform
from lengthwise.search.packing import Chunk
from lengthwise.search.work import Work

TEXT = """
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LogUniform, Sometimes, Space, Uniform

space = Space(
    recipe_for("set-complement", MinimalModel(extra_width=1)),
    {{
        "task.vocab": 6,
        "max_train_length": Choice(2, 3),
        "model.remedies": Choice((), ("layernorm",)),
        "steps": {steps},
        "batch": 4,
        "test_inputs": 20,
        "learning_rate": LogUniform(1e-3, 1e-1),
        "attention_dropout": Sometimes(Uniform(0.0, 0.5)),
    }},
    twins=("model.remedies", "attention_dropout"),
)
"""


def space_file(folder: Path, steps: int = 12) -> Path:
    """The small space as a file."""
    path = folder / "small_space.py"
    path.write_text(TEXT.format(steps=steps), encoding="utf-8")
    return path


OWN = """
from dataclasses import dataclass

from torch import nn

from lengthwise.models import MinimalModel, Model, model
from lengthwise.remedies import Remedy, remedy
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LogUniform, Space
from lengthwise.tasks import SetComplement, TokenTask


@remedy("own-halved")
class OwnHalved(Remedy):
    def scores(self, scores, read):
        return scores / 2


class Sums(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.read, self.write = nn.Embedding(vocab, width), nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.write(self.read(tokens).cumsum(-2))


@model("own-sums")
@dataclass(frozen=True, kw_only=True)
class OwnSums(Model):
    reads = TokenTask
    width: int = 8

    def build(self, task, hyperparameters, max_train_length=None):
        return Sums(task.vocab, self.width)


space = Space(
    recipe_for(SetComplement(6), steps={steps}, batch=4, test_inputs=20),
    {{
        "model": Choice(
            OwnSums(width=4),
            OwnSums(),
            MinimalModel(extra_width=1),
            MinimalModel(remedies=("own-halved",)),
        ),
        "learning_rate": LogUniform(1e-3, 1e-1),
    }},
)
"""
"""A space with a model and a remedy of its own."""


def small_space(
    changes: Mapping[str, object] | None = None, objective: str = "tvd_beyond"
) -> Space:
    """The small space as an object, with some of its hyper-parameters changed."""
    settings: dict[str, object] = {
        "task.vocab": 6,
        "max_train_length": Choice(2, 3),
        "model.remedies": Choice((), ("layernorm",)),
        "steps": 12,
        "batch": 4,
        "test_inputs": 20,
        "learning_rate": LogUniform(1e-3, 1e-1),
        "attention_dropout": Sometimes(Uniform(0.0, 0.5)),
    }
    twins = ("model.remedies", "attention_dropout")
    recipe = recipe_for("set-complement", MinimalModel(extra_width=1))
    return Space(recipe, settings | dict(changes or {}), twins=twins, objective=objective)


class Inline:
    """An executor that works in this very process: no start of a worker to wait for."""

    name = "inline"

    def run(self, work: Work, chunks: Sequence[Chunk]) -> Iterator[Done | None]:
        """Work on all chunks, one after the other."""
        for chunk in chunks:
            try:
                yield Done(chunk, work.do(chunk))
            except RuntimeError as error:
                raise InputError(f"trials {chunk.trials}: RuntimeError: {error}") from error
