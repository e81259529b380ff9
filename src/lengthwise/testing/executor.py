"""What every executor of searches must keep."""

from collections import Counter

import pytest

from lengthwise.errors import InputError
from lengthwise.executors import Done, Executor
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LogUniform, Space
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.space import space_from_text
from lengthwise.search.work import Work
from lengthwise.tasks import SetComplement

SPACE = Space(
    recipe_for(SetComplement(6), max_train_length=3, steps=12, batch=4, test_inputs=20),
    {
        "model.extra_width": 1,
        "max_train_length": Choice(2, 3),
        "learning_rate": LogUniform(1e-3, 1e-1),
    },
)
"""A search whose trials take milliseconds."""

OF_A_FILE = """
from lengthwise.runs import recipe_for
from lengthwise.search import Space, Uniform
from lengthwise.tasks import SetComplement

space = Space(
    recipe_for(SetComplement(6), max_train_length=3, steps=2, test_inputs=5),
    {"learning_rate": Uniform(0.001, 0.002)},
)
"""

FAILING = """
from dataclasses import dataclass

import torch

from lengthwise.models import Model, model
from lengthwise.runs import recipe_for
from lengthwise.search import LogUniform, Space
from lengthwise.tasks import SetComplement, TokenTask

@model("failing")
@dataclass(frozen=True, kw_only=True)
class Failing(Model):
    reads = TokenTask

    def build(self, task, hyperparameters, max_train_length=None):
        if torch.empty(0).device.type != "meta":
            raise RuntimeError("no such layer")
        return torch.nn.Linear(1, 1)

recipe = recipe_for(SetComplement(6), Failing(), max_train_length=3)
space = Space(recipe, {"learning_rate": LogUniform(1e-3, 1e-1)})
"""


class ExecutorConformance:
    """Properties of any executor; a subclass gives one.

    class TestMine(ExecutorConformance):
        def executor(self):
            return MyExecutor(workers=1)
    """

    def executor(self) -> Executor:
        """The executor to check."""
        raise NotImplementedError

    def done(self, work: Work, chunks: list[Chunk]) -> list[Done]:
        """What comes out of some chunks."""
        results = [result for result in self.executor().run(work, chunks) if result is not None]
        assert all(isinstance(result, Done) for result in results)
        return results

    def test_has_a_name(self) -> None:
        """By which the command line and the log know it."""
        assert self.executor().name.isidentifier()

    def test_every_chunk_comes_back_once_with_its_own_trials(self) -> None:
        """In any order, and with the bytes that this process would have made."""
        work = Work(SPACE, seed=1)
        chunks = [*pack(SPACE, 1, range(5)), *pack(SPACE, 1, range(5, 9))]
        assert len(chunks) >= 3
        results = self.done(work, chunks)
        assert Counter(result.job for result in results) == Counter(chunks)
        for result in results:
            assert result.content == work.do(result.job), "as in this process, to the bit"

    def test_no_chunks_is_no_work(self) -> None:
        """Nothing comes back, and it ends."""
        assert self.done(Work(SPACE, seed=0), []) == []

    def test_a_space_of_a_file_needs_no_file(self) -> None:
        """Its text travels to the workers."""
        space = space_from_text("somewhere.py", OF_A_FILE)
        (result,) = self.done(Work(space, seed=0), [Chunk((0, 1), 4)])
        assert result.content == Work(space, seed=0).train((0, 1))

    def test_a_chunk_that_fails_is_named(self) -> None:
        """With its trials and what went wrong."""
        work = Work(space_from_text("failing.py", FAILING), seed=0)
        with pytest.raises(InputError, match=r"trials .*7.*: RuntimeError: no such layer"):
            self.done(work, [Chunk((7, 8), 2)])

    def test_it_can_be_left_early(self) -> None:
        """Closing ends all work."""
        results = self.executor().run(Work(SPACE, seed=1), pack(SPACE, 1, range(30)))
        next(results)
        results.close()  # type: ignore[attr-defined]
        assert list(results) == []
