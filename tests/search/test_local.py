import multiprocessing

import pytest
from search.small import Inline

from lengthwise.errors import InputError
from lengthwise.executors import Executor
from lengthwise.search import LocalExecutor
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.space import space_from_text
from lengthwise.search.work import Work
from lengthwise.testing import ExecutorConformance
from lengthwise.testing.executor import FAILING, SPACE


class TestLocalExecutor(ExecutorConformance):
    def executor(self) -> Executor:
        return LocalExecutor(1)


class TestInlineExecutor(ExecutorConformance):
    """The one that tests of searches use keeps to the same rules."""

    def executor(self) -> Executor:
        return Inline()  # type: ignore[return-value]


def test_no_worker_outlives_it() -> None:
    results = LocalExecutor(1).run(Work(SPACE, seed=0), pack(SPACE, 0, range(10)))
    next(results)
    assert len(multiprocessing.active_children()) == 1
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


DEADLY = FAILING.replace('raise RuntimeError("no such layer")', "__import__('os')._exit(9)")


@pytest.mark.slow
def test_trials_that_kill_their_workers_are_given_up() -> None:
    work = Work(space_from_text("deadly.py", DEADLY), seed=0)
    with pytest.raises(InputError, match="trials 3: 3 worker processes in a row ended with exit"):
        list(LocalExecutor(1).run(work, [Chunk((3,), 1)]))


def test_workers_must_be_some() -> None:
    with pytest.raises(InputError, match="workers = 0: expected at least 1"):
        LocalExecutor(0)
