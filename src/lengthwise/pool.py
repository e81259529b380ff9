"""Jobs for processes of this machine: one thread each, and a job survives its worker."""

import multiprocessing
import os
import select
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Literal

import torch

from lengthwise.errors import InputError, require
from lengthwise.memory import keep_freed_memory
from lengthwise.registry import blamed

MOST_DEATHS = 3
"""How often a job may take its worker with it before it counts as failed."""

WAIT_SECONDS = 0.5

Do = Callable[[Any, Callable[[object], None], Callable[[], bool]], object]
"""Does a job in a worker. It is given the job, a function that sends messages, and one to ask now
and then: True means that the job should end soon: Ctrl-C was pressed, or the parent is gone."""


@dataclass(frozen=True)
class Event:
    """Something that a worker did."""

    job: Any
    kind: Literal["message", "done", "failed"]
    value: Any
    """The message, the result, or in one line why the job failed."""


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: "Connection[Any, Any]"
    job: Any = None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def run_jobs(
    do: Do, jobs: Sequence[Any], workers: int, stop: Callable[[], bool] = lambda: False
) -> Generator[Event | None, None, None]:
    """Have all jobs done, about in their order; yield what happens, and None when nothing does.

    A job whose worker died is given to another one. Closing the iterator ends all workers.

    Args:
        do: Does one job; it and the jobs must pickle.
        jobs: What to do: hashable, and none of them None.
        workers: How many processes to use at most.
        stop: Asked about twice a second. True drops the jobs that wait, and asks the others to end.
    """
    require(workers >= 1, "workers", workers, "at least 1")
    waiting = deque(jobs)
    running: list[_Worker] = []
    deaths: Counter[Any] = Counter()
    stopped = False
    try:
        while waiting or any(worker.job is not None for worker in running):
            if not stopped and stop():
                stopped = True
                waiting.clear()
                for worker in running:
                    _send(worker, None)
            while waiting and len(running) < workers:
                running.append(_start(do))
            for worker in running:
                if worker.job is None and waiting:
                    worker.job = waiting.popleft()
                    _send(worker, worker.job)
            ready = wait([worker.pipe for worker in running], WAIT_SECONDS)
            for worker in [one for one in running if one.pipe in ready]:
                job = worker.job
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    running.remove(worker)
                    _end(worker)
                    if job is None or stopped:
                        continue
                    deaths[job] += 1
                    if deaths[job] < MOST_DEATHS:
                        waiting.appendleft(job)
                        continue
                    code = worker.process.exitcode
                    kind = "failed"
                    value = f"{MOST_DEATHS} worker processes in a row ended with exit code {code}"
                if kind != "message":
                    worker.job = None
                yield Event(job, kind, value)
            if not ready:
                yield None
    finally:
        for worker in running:
            worker.process.kill()  # what they had to keep, they have kept
        for worker in running:
            _end(worker)


def _start(do: Do) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(do, theirs))
    # Ctrl-C reaches every process of a terminal, but only the one that was started has to act on
    # it. A worker inherits that the signal is blocked, so that it cannot meet it even while it
    # starts. (Multiprocessing's own helper, started with the first process, would unblock it.)
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()  # so that the pipe ends when the worker does
    return _Worker(process, ours)


def _send(worker: _Worker, job: Any) -> None:
    with suppress(ConnectionError):  # it is dead then; reading from it will tell
        worker.pipe.send(job)


def _end(worker: _Worker) -> None:
    worker.process.join()
    worker.pipe.close()


def _serve(do: Do, pipe: "Connection[Any, Any]") -> None:
    """A worker: do jobs until it is told to end, or the pipe says that its parent is gone.

    Nothing is sent to a worker while it works but that it should end, and the pipe of a process
    that is gone can be read, too: so there is something to read if and only if it should end.
    """
    torch.set_num_threads(1)
    keep_freed_memory()
    poll = select.poll()
    poll.register(pipe.fileno(), select.POLLIN)
    with suppress(EOFError, ConnectionError):
        while (job := pipe.recv()) is not None:
            pipe.send(_done(do, job, pipe, lambda: bool(poll.poll(0))))


def _done(
    do: Do, job: Any, pipe: "Connection[Any, Any]", stop: Callable[[], bool]
) -> tuple[str, object]:
    def say(message: object) -> None:
        with suppress(ConnectionError):  # nobody listens: `stop` will tell
            pipe.send(("message", message))

    try:
        return "done", do(job, say, stop)
    except (InputError, OSError) as error:
        return "failed", str(error)
    except Exception as error:
        told = blamed(error)
        if told is not None:
            return "failed", told
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}".splitlines()[0]
