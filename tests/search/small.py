"""A search so small that a trial takes milliseconds, for all tests of searches."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.runs import SetComplementRecipe
from lengthwise.search import Choice, LogUniform, Sometimes, Space, Uniform
from lengthwise.search.executors import Done
from lengthwise.search.packing import Chunk
from lengthwise.search.work import Work

TEXT = """
from lengthwise.runs import SetComplementRecipe
from lengthwise.search import Choice, LogUniform, Sometimes, Space, Uniform

space = Space(
    SetComplementRecipe(extra=1),
    {{
        "vocab": 6,
        "train_length": Choice(2, 3),
        "norm": Choice("none", "layernorm"),
        "steps": {steps},
        "batch": 4,
        "test_inputs": 20,
        "learning_rate": LogUniform(1e-3, 1e-1),
        "dropout_weights": Sometimes(Uniform(0.0, 0.5)),
    }},
    twins=("norm", "dropout_weights"),
)
"""


def space_file(folder: Path, steps: int = 12) -> Path:
    """The small space as a file."""
    path = folder / "small_space.py"
    path.write_text(TEXT.format(steps=steps), encoding="utf-8")
    return path


def small_space(objective: str = "tvd_beyond", **changes: object) -> Space:
    """The small space as an object, with some of its hyper-parameters changed."""
    settings: dict[str, object] = {
        "vocab": 6,
        "train_length": Choice(2, 3),
        "norm": Choice("none", "layernorm"),
        "steps": 12,
        "batch": 4,
        "test_inputs": 20,
        "learning_rate": LogUniform(1e-3, 1e-1),
        "dropout_weights": Sometimes(Uniform(0.0, 0.5)),
    }
    twins = ("norm", "dropout_weights")
    recipe = SetComplementRecipe(extra=1)
    return Space(recipe, settings | changes, twins=twins, objective=objective)


class Inline:
    """An executor that works in this very process: no start of a worker to wait for."""

    name = "inline"

    def run(self, work: Work, chunks: Sequence[Chunk]) -> Iterator[Done | None]:
        """Work on all chunks, one after the other."""
        for chunk in chunks:
            try:
                yield Done(chunk, work.do(chunk.trials))
            except RuntimeError as error:
                raise InputError(f"trials {chunk.trials}: RuntimeError: {error}") from error
