"""What every executor offers, and what it is given."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Work(Protocol):
    """What is the same for all jobs. It travels to the workers, so it must pickle."""

    def do(self, job: Any, stop: Callable[[], bool] = lambda: False) -> bytes:
        """Do one job.

        Args:
            job: What to train and measure.
            stop: Asked between steps; True gives the work up, and what comes back is empty.

        Returns:
            The content of the file of its results.
        """
        ...


@dataclass(frozen=True)
class Done:
    """A job that was done."""

    job: Any
    """What was done."""
    content: bytes
    """Of the file of its results."""


class Executor(Protocol):
    """Has jobs done, somewhere, and hands back what comes out.

    It writes nothing: the one process that started the work does, so that workers need no disk in
    common and no two processes ever write to one file.
    """

    @property
    def name(self) -> str:
        """The name by which the command line and the log know it."""
        ...

    def run(self, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Do all jobs, about in their order, and yield each once when it is done.

        While nothing is done it yields None about twice a second. A job whose worker died is given
        to another one. Closing the iterator ends all workers.

        Args:
            work: Does a job.
            jobs: What to do; `str` of a job is what errors call it.

        Raises:
            InputError: A job failed and would fail again; the message names it.
        """
        ...
