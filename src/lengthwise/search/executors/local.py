"""Processes of this machine: one per core, one thread each."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lengthwise.errors import InputError, require
from lengthwise.pool import cores, run_jobs
from lengthwise.search.executors._base import Done
from lengthwise.search.packing import Chunk
from lengthwise.search.work import Work


class LocalExecutor:
    """Trains on this machine, in `workers` processes (default: one per core)."""

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        """Say how many processes."""
        require(workers is None or workers >= 1, "workers", workers, "at least 1")
        self.workers = workers or cores()

    def run(self, work: Work, chunks: Sequence[Chunk]) -> Iterator[Done | None]:
        """Work on all chunks; see `Executor`."""
        events = run_jobs(partial(_do, work), chunks, self.workers)
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


def _do(work: Work, chunk: Chunk, say: Callable[[object], None], stop: Callable[[], bool]) -> bytes:
    return work.do(chunk.trials, stop)
