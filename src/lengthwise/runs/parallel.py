"""Several runs at once: one process each, one thread per process."""

import multiprocessing
import os
import queue
from collections.abc import Sequence
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path

import torch

from lengthwise.errors import InputError
from lengthwise.runs.execute import Interrupted, Progress, Report, execute
from lengthwise.runs.folder import RunFolder


def execute_all(paths: Sequence[Path], report: Report, workers: int | None = None) -> None:
    """Execute the runs at `paths`, as many at a time as there are workers.

    By default that is one per core, or one alone where any of them uses another device.

    Raises:
        Interrupted: After Ctrl-C, once every run has saved its state.
        InputError: If a run failed; the others are finished first.
    """
    folders = [folder for folder in map(RunFolder.open, paths) if not folder.finished]
    waiting = [folder.path for folder in folders]
    if workers is None:
        cores = len(os.sched_getaffinity(0))
        workers = cores if all(folder.recipe.device == "cpu" for folder in folders) else 1
    context = multiprocessing.get_context("spawn")
    messages: Queue[Progress | str] = context.Queue()
    running: list[SpawnProcess] = []
    failures: list[str] = []
    interrupted = False
    while waiting or running:
        while waiting and len(running) < workers and not interrupted:
            process = context.Process(target=_work, args=(waiting.pop(0), messages, os.getpid()))
            process.start()
            running.append(process)
        try:
            message = messages.get(timeout=0.2)
            if isinstance(message, Progress):
                report(message)
            else:
                failures.append(message)
        except queue.Empty:
            pass
        except KeyboardInterrupt:
            # The terminal sends Ctrl-C to the workers as well; they save and end by themselves.
            interrupted = True
            waiting.clear()
        for process in [one for one in running if not one.is_alive()]:
            running.remove(process)
            if process.exitcode not in (0, _INTERRUPTED, _FAILED):
                failures.append(f"a worker process ended with exit code {process.exitcode}")
            interrupted |= process.exitcode == _INTERRUPTED
    if interrupted:
        raise Interrupted
    if failures:
        raise InputError(failures[0])


_FAILED = 2
_INTERRUPTED = 130


def _work(path: Path, messages: "Queue[Progress | str]", parent: int) -> None:
    torch.set_num_threads(1)
    try:
        # Without its parent a worker would train on unseen and keep the run from being resumed. Who
        # that is it is told: by the time it could ask, it may be an orphan already.
        execute(RunFolder.open(path), messages.put, stop=lambda: os.getppid() != parent)
    except Interrupted:
        os._exit(_INTERRUPTED)
    except (InputError, OSError) as error:
        messages.put(str(error))
        messages.close()
        messages.join_thread()
        os._exit(_FAILED)
