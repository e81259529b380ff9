"""Several runs at once: one process each, one thread per process."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from lengthwise.errors import InputError
from lengthwise.pool import cores, run_jobs
from lengthwise.progress import Report
from lengthwise.runs.execute import Interrupted, execute, interrupts
from lengthwise.runs.folder import RunFolder


def execute_all(paths: Sequence[Path], report: Report, workers: int | None = None) -> None:
    """Execute the runs at `paths`, as many at a time as there are workers.

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
        jobs = [folder.path for folder in folders]
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


def _execute(path: Path, say: Callable[[object], None], stop: Callable[[], bool]) -> None:
    try:
        execute(RunFolder.open(path), say, stop)
    except Interrupted:
        return  # its state is saved, and whoever asked for that knows
