"""Several runs at once: one process each, one thread per process."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.folders import InUse
from lengthwise.pool import cores, run_jobs
from lengthwise.progress import Report
from lengthwise.runs.execute import Interrupted, execute, interrupts
from lengthwise.runs.folder import RunFolder

WAIT_SECONDS = 1.0


def execute_all(paths: Sequence[Path], report: Report, workers: int | None = None) -> None:
    """Execute the runs at `paths`, as many at a time as there are workers.

    Those that another process executes are waited for, and finished if it leaves them unfinished.

    Args:
        paths: Their folders; those that are finished are left alone.
        report: Called with the progress of all of them.
        workers: By default one per core, or one alone where any of them uses another device.

    Raises:
        Interrupted: After Ctrl-C, once every run has saved its state.
        InputError: If a run failed; the others are finished first.
    """
    folders = [folder for folder in map(RunFolder.open, paths) if not folder.finished]
    if workers is None:
        workers = cores() if all(folder.recipe.device == "cpu" for folder in folders) else 1
    failures: list[str] = []
    with interrupts() as interrupted:
        while folders:
            free = [folder for folder in folders if not _in_use(folder)]
            jobs = [folder.path for folder in free]
            with closing(run_jobs(_execute, jobs, workers, interrupted)) as events:
                for event in filter(None, events):
                    if event.kind == "message":
                        report(event.value)
                    elif event.kind == "failed":
                        failures.append(f"{event.job}: {event.value}")
            if interrupted():
                raise Interrupted
            if failures:
                raise InputError(failures[0])
            folders = [folder for folder in folders if not folder.finished]
            if folders and not free:
                time.sleep(WAIT_SECONDS)


def _in_use(folder: RunFolder) -> bool:
    try:
        with folder.locked():
            return False
    except InUse:
        return True


def _execute(path: Path, say: Callable[[object], None], stop: Callable[[], bool]) -> None:
    # Stopped: its state is saved, and whoever asked for that knows. In use: it will be finished.
    with suppress(Interrupted, InUse):
        execute(RunFolder.open(path), say, stop)
