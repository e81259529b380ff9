"""What the commands share: the command line as typed, and progress that suits the output."""

import math
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID
from rich.progress import Progress as Bars

from lengthwise.progress import Progress, Report

if TYPE_CHECKING:
    from lengthwise.testing.check import Checked

PLAIN_SECONDS = 10.0
"""Time between lines where the output is not a terminal."""


def command_line() -> list[str]:
    """The command as it was typed, with the program's path cut to its name."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def quoted(words: list[str]) -> str:
    """A command as one would paste it into a shell."""
    return shlex.join(words)


def print_checked(found: "Iterable[Checked]") -> int:
    """Print what came out for every property; the exit code is 1 if one breaks."""
    broken = 0
    for one in found:
        broken += one.holds is False
        mark = {True: "holds ", False: "BREAKS", None: "-     "}[one.holds]
        print(f"{mark}  {one.property}{': ' if one.told else ''}{one.told}", flush=True)
    print(f"\n{broken} broken" if broken else "\nall hold")
    return 1 if broken else 0


@contextmanager
def progress_display() -> Iterator[Report]:
    """A report function that draws a bar per name on a terminal, and prints lines elsewhere."""
    console = Console(stderr=True)
    pace = _Pace()
    if not console.is_terminal:
        yield _Lines(pace).show
        return
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), "{task.fields[detail]}")
    with Bars(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def draw(progress: Progress) -> None:
            if progress.name not in tasks:
                tasks[progress.name] = bars.add_task(progress.name, detail="")
            bars.update(
                tasks[progress.name], total=progress.total, completed=progress.done,
                detail=pace.detail(progress),
            )  # fmt: skip

        yield draw


class _Pace:
    """Says how fast each name goes since it was first seen, and how long it will take."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}

    def detail(self, progress: Progress) -> str:
        now = time.monotonic()
        began, before = self._began.setdefault(progress.name, (now, progress.done))
        speed = (progress.done - before) / (now - began) if now > began else 0.0
        left = progress.seconds_left
        if left is None and speed > 0:
            left = (progress.total - progress.done) / speed
        parts = [progress.detail, _speed(progress, speed)]
        if left is not None and progress.done < progress.total:
            parts.append(f"{_clock(left)} left")
        return ", ".join(part for part in parts if part)


def _speed(progress: Progress, speed: float) -> str:
    if progress.per == "minute":
        return f"{60 * speed:.0f} {progress.unit} per minute"
    return f"{speed:.0f} {progress.unit}/s"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class _Lines:
    """Prints a line per name at its start, at its end and now and then between them."""

    def __init__(self, pace: _Pace) -> None:
        self._pace = pace
        self._printed: dict[str, tuple[float, bool]] = {}

    def show(self, progress: Progress) -> None:
        now, over = time.monotonic(), progress.done == progress.total
        detail = self._pace.detail(progress)
        printed, was_over = self._printed.get(progress.name, (-math.inf, False))
        if now - printed < PLAIN_SECONDS and over == was_over:
            return
        self._printed[progress.name] = now, over
        counted = f"{progress.done}/{progress.total} {progress.unit}"
        print(f"{progress.name}: {counted}, {detail}", file=sys.stderr)
