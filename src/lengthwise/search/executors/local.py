"""Processes of this machine: one per core, one thread each."""

import multiprocessing
import os
import signal
import traceback
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import torch

from lengthwise.errors import InputError, require
from lengthwise.search.executors._base import Done
from lengthwise.search.packing import Chunk
from lengthwise.search.work import Abandoned, Work

MOST_DEATHS = 3
"""How often a chunk may take its worker with it before the search gives up on it."""

WAIT_SECONDS = 0.5


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: "Connection[object, object]"
    chunk: Chunk | None = None


class LocalExecutor:
    """Trains on this machine, in `workers` processes (default: one per core)."""

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        """Say how many processes."""
        require(workers is None or workers >= 1, "workers", workers, "at least 1")
        self.workers = workers or len(os.sched_getaffinity(0))

    def run(self, work: Work, chunks: Sequence[Chunk]) -> Iterator[Done | None]:
        """Work on all chunks; see `Executor`."""
        waiting = deque(chunks)
        running: list[_Worker] = []
        deaths: Counter[Chunk] = Counter()
        try:
            while waiting or any(worker.chunk for worker in running):
                while waiting and len(running) < self.workers:
                    running.append(_start(work))
                for worker in running:
                    if worker.chunk is None and waiting:
                        _give(worker, waiting)
                ready = wait([worker.pipe for worker in running], WAIT_SECONDS)
                for worker in [one for one in running if one.pipe in ready]:
                    try:
                        answer = worker.pipe.recv()
                    except (EOFError, ConnectionError):
                        running.remove(worker)
                        _bury(worker, waiting, deaths)
                        continue
                    chunk, worker.chunk = worker.chunk, None
                    assert chunk is not None
                    if isinstance(answer, str):
                        raise InputError(f"{_named(chunk)}: {answer}")
                    yield Done(chunk, answer)  # type: ignore[arg-type]
                if not ready:
                    yield None
        finally:
            for worker in running:
                worker.process.kill()  # nothing of theirs is on the disk
            for worker in running:
                worker.process.join()
                worker.pipe.close()


def _start(work: Work) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs, os.getpid()), daemon=True)
    # Ctrl-C reaches every process of a terminal, but only the one that writes has to act on it. A
    # worker inherits that the signal is blocked, so that it cannot meet it even while it starts.
    # (Multiprocessing's own helper, started with the first process, would unblock it again.)
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()  # so that the pipe ends when the worker does
    return _Worker(process, ours)


def _give(worker: _Worker, waiting: deque[Chunk]) -> None:
    worker.chunk = waiting.popleft()
    with suppress(ConnectionError):  # it is dead then; reading from it will tell
        worker.pipe.send(worker.chunk.trials)


def _bury(worker: _Worker, waiting: deque[Chunk], deaths: Counter[Chunk]) -> None:
    """Let another worker do the chunk of one that died."""
    worker.process.join()
    worker.pipe.close()
    chunk = worker.chunk
    if chunk is None:
        return
    deaths[chunk] += 1
    if deaths[chunk] >= MOST_DEATHS:
        raise InputError(
            f"{_named(chunk)}: {MOST_DEATHS} worker processes in a row ended with exit code "
            f"{worker.process.exitcode}; the trials recorded so far are kept"
        )
    waiting.appendleft(chunk)


def _named(chunk: Chunk) -> str:
    shown = ", ".join(map(str, chunk.trials[:5]))
    return f"trials {shown}{' ...' if len(chunk.trials) > 5 else ''}"


def _serve(work: Work, pipe: "Connection[object, object]", parent: int) -> None:
    """A worker: do chunks until the pipe ends or nobody waits any more.

    Who started it is told, not asked: by the time a worker could ask, it may be an orphan.
    """
    torch.set_num_threads(1)
    try:
        while True:
            trials = pipe.recv()
            try:
                answer: object = work.do(trials, lambda: os.getppid() != parent)  # type: ignore[arg-type]
            except Abandoned:
                return
            except Exception as error:
                traceback.print_exc()
                answer = f"{type(error).__name__}: {error}".splitlines()[0]
            pipe.send(answer)
    except (EOFError, ConnectionError):
        return
