"""What every executor must keep: inherit from `ExecutorConformance` and give one."""

from collections import Counter

import pytest

from lengthwise.errors import InputError
from lengthwise.runs import SetComplementRecipe
from lengthwise.search import Choice, LogUniform, Space
from lengthwise.search.executors import Done, Executor
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.space import space_from_text
from lengthwise.search.table import read_content
from lengthwise.search.work import Work

SPACE = Space(
    SetComplementRecipe(vocab=6, train_length=3, extra=1, steps=12, batch=4, test_inputs=20),
    {"train_length": Choice(2, 3), "learning_rate": LogUniform(1e-3, 1e-1)},
)

FAILING = """
from dataclasses import dataclass
from lengthwise.search import LogUniform, ModuleRecipe, Space
from lengthwise.tasks import SetComplement

@dataclass(frozen=True)
class Failing(ModuleRecipe):
    task = SetComplement(6)
    train_length: int = 3

    def model(self, member):
        raise RuntimeError("no such layer")

space = Space(Failing(), {"learning_rate": LogUniform(1e-3, 1e-1)})
"""


class ExecutorConformance:
    """Properties of any executor."""

    def executor(self) -> Executor:
        """The executor to check."""
        raise NotImplementedError

    def done(self, work: Work, chunks: list[Chunk]) -> list[Done]:
        results = [result for result in self.executor().run(work, chunks) if result is not None]
        assert all(isinstance(result, Done) for result in results)
        return results

    def test_has_a_name(self) -> None:
        assert self.executor().name.isidentifier()

    def test_every_chunk_comes_back_once_with_its_own_trials(self) -> None:
        work = Work(SPACE, seed=1)
        chunks = [*pack(SPACE, 1, range(5)), *pack(SPACE, 1, range(5, 9))]
        assert len(chunks) >= 3
        results = self.done(work, chunks)
        assert Counter(result.chunk for result in results) == Counter(chunks)
        for result in results:
            assert result.content == work.do(result.chunk.trials), "as in this process, to the bit"

    def test_no_chunks_is_no_work(self) -> None:
        assert self.done(Work(SPACE, seed=0), []) == []

    def test_a_space_of_a_file_needs_no_file(self) -> None:
        space = space_from_text(
            "somewhere.py",
            "from lengthwise.runs import SetComplementRecipe\n"
            "from lengthwise.search import Space, Uniform\n"
            "recipe = SetComplementRecipe(vocab=6, train_length=3, steps=2, test_inputs=5)\n"
            "space = Space(recipe, {'learning_rate': Uniform(0.001, 0.002)})\n",
        )
        (result,) = self.done(Work(space, seed=0), [Chunk((0, 1), 4)])
        assert set(read_content(result.content, ["trial"])["trial"]) == {0, 1}

    def test_a_chunk_that_fails_is_named(self) -> None:
        work = Work(space_from_text("failing.py", FAILING), seed=0)
        with pytest.raises(InputError, match=r"trials .*7.*: RuntimeError: no such layer"):
            self.done(work, [Chunk((7, 8), 2)])

    def test_it_can_be_left_early(self) -> None:
        results = self.executor().run(Work(SPACE, seed=1), pack(SPACE, 1, range(30)))
        next(results)
        results.close()  # type: ignore[attr-defined]
        assert list(results) == []
