"""What the commands share: the command line as typed, and progress that suits the output."""

import math
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bars,
)

from lengthwise.runs.execute import Progress, Report

PLAIN_SECONDS = 10.0
"""Time between lines where the output is not a terminal."""


def command_line() -> list[str]:
    """The command as it was typed, with the program's path cut to its name."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def quoted(words: list[str]) -> str:
    """A command as one would paste it into a shell."""
    return shlex.join(words)


@contextmanager
def progress_display() -> Iterator[Report]:
    """A report function that draws bars on a terminal and prints plain lines elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console) as bars:
        yield _Bars(bars)


class _Speed:
    """Steps per second of each run since it was first seen."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}

    def __call__(self, progress: Progress) -> float:
        now = time.monotonic()
        began, step = self._began.setdefault(progress.run, (now, progress.step))
        return (progress.step - step) / (now - began) if now > began else 0.0


def _detail(progress: Progress, speed: float) -> str:
    loss = "" if math.isnan(progress.loss) else f"loss {progress.loss:.4f}, "
    detail = f"{loss}{speed:.0f} steps/s"
    if progress.diverged:
        detail += f", {progress.diverged} diverged"
    return detail if progress.phase == "training" else f"{detail}, {progress.phase}"


class _Bars:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._speed = _Speed()

    def __call__(self, progress: Progress) -> None:
        detail = _detail(progress, self._speed(progress))
        if progress.run not in self._tasks:
            task = self._bars.add_task(progress.run, total=progress.steps, detail=detail)
            self._tasks[progress.run] = task
        self._bars.update(self._tasks[progress.run], completed=progress.step, detail=detail)


class _PlainLines:
    def __init__(self) -> None:
        self._speed = _Speed()
        self._printed: dict[str, tuple[float, str]] = {}

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        speed = self._speed(progress)
        printed, phase = self._printed.get(progress.run, (-PLAIN_SECONDS, ""))
        if now - printed < PLAIN_SECONDS and phase == progress.phase:
            return
        self._printed[progress.run] = (now, progress.phase)
        left = ""
        if speed > 0 and progress.phase == "training":
            left = f", {(progress.steps - progress.step) / speed:.0f} s left"
        counted = f"{progress.step}/{progress.steps}"
        print(f"{progress.run}: {counted}, {_detail(progress, speed)}{left}", file=sys.stderr)
