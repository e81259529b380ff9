"""Processes of this machine: one per core, one thread each."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial

from lengthwise.errors import InputError, require
from lengthwise.executors._base import Done, Work
from lengthwise.pool import cores, run_jobs


class LocalExecutor:
    """Trains on this machine, in `workers` processes (default: one per core).

    Args:
        workers: How many processes; None is one per core.
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        """Say how many processes."""
        require(workers is None or workers >= 1, "workers", workers, "at least 1")
        self.workers = workers or cores()

    def run(self, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Do all jobs; see `Executor`.

        Args:
            work: What is done for each job.
            jobs: What to do it for.

        Raises:
            InputError: A job was refused in its process, with the line that says why.
        """
        events = run_jobs(partial(_do, work), jobs, self.workers)
        try:
            for event in events:
                if event is None:
                    yield None
                elif event.kind == "failed":
                    raise InputError(f"{event.job}: {event.value}")
                else:
                    yield Done(event.job, event.value)
        finally:
            events.close()


def _do(
    work: Work, job: Hashable, say: Callable[[object], None], stop: Callable[[], bool]
) -> bytes:
    return work.do(job, stop)
