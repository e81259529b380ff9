"""Two processes on one folder, a clock set back, a folder moved, another version in between.

Each is refused in one line or comes out right; nothing is ever mixed. A case is a kind of work and
one of the four. It is stopped at a random one of its file operations; then

- a second process does the same in the same folder, while the first one stands still and then goes
  on, if the second one let it;
- or the clock is a year back: all files are a year younger than the present, for the process that
  goes on (nothing in the package reads a clock for more than a line of a log);
- or the folder has another name and place, and the work goes on there;
- or the package has another version when the work goes on.
"""

import errno
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soak._harness import (
    Child,
    Ran,
    Record,
    arguments,
    chance,
    command,
    import_everything,
    side_by_side,
)
from soak.full_disk import SHM, Place, operations, reference
from soak.hostile import PROGRESS, train_in_this_process
from soak.seeds import seeds
from soak.workloads import WORKLOADS

COUNT = 96
SECONDS = 300.0
LOCKED = ("train", "search", "compare")
"""Work whose folder is locked: a second process is refused. The others may both do it."""
KINDS = ("two processes", "clock set back", "folder moved", "version changed")


def run_case(number: int, kept: Path, known: dict[str, Any]) -> dict[str, Any]:
    """Run a case; what came out, as a line of the record."""
    rng = chance("together", number)
    kind = KINDS[number % len(KINDS)]
    work = WORKLOADS[number // len(KINDS) % len(WORKLOADS)]
    last = rng.randint(1, known[work.name]["operations"])
    with tempfile.TemporaryDirectory(dir=SHM) as name:
        place = Place(work, Path(name), kept)
        if kind == "two processes":
            line, wrong = _two(place, last)
        else:
            ran = place.run(_dying(last))
            wrong = [] if ran.signal or ran.code == 0 else [f"exit code {ran.code}"]
            line, more = _go_on(kind, place, Path(name))
            wrong += more
        if not line.startswith("refused"):
            found = place.digest()
            if found != known[work.name]["digest"]:
                wrong.append(f"{found} in place of {known[work.name]['digest']}")
    return {"kind": kind, "work": work.name, "at": last, "line": line, "wrong": wrong}


def _dying(last: int) -> Callable[[int, str], None]:
    def reached(count: int, path: str) -> None:
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def _go_on(kind: str, place: Place, outside: Path) -> tuple[str, list[str]]:
    """Go on after the change."""
    work = place.work
    if kind == "clock set back":
        future = time.time() + 365 * 86400
        for path in (*place.path.rglob("*"), place.path):
            os.utime(path, (future, future))
        ran = place.run()
    elif kind == "folder moved":
        moved = outside / "another place" / "with another name"
        moved.parent.mkdir()
        shutil.move(place.path, moved)
        place.path = moved
        ran = place.run()
    else:
        return _other_version(place)
    return "right", [] if ran.code == 0 else [
        f"{work.name}: exit code {ran.code}: {ran.err[-400:]}"
    ]


def _other_version(place: Place) -> tuple[str, list[str]]:
    """Another version refuses what this one began, or does it all by itself; never mixed."""
    begun = any(place.path.glob("out/*.json"))
    before = place.results()

    def prepare() -> None:
        place.work.prepare()
        train_in_this_process()
        import lengthwise.othello.shards as shards
        from lengthwise.runs import version

        version.code_version.cache_clear()
        version.__version__ = "99.0"  # type: ignore[attr-defined]
        shards.__version__ = "99.0"  # type: ignore[attr-defined]

    words = place.work.command(place.path)
    ran = Child(command(words, prepare), place.path.parent, cwd=place.path).wait(SECONDS)
    finished = ran.code == 0
    if place.work.name in ("othello generate", "average"):  # every number is made again or checked
        return "right", [] if finished else [f"exit code {ran.code}: {ran.err[-400:]}"]
    if not begun:
        return "refused or begun anew", [] if finished else [f"exit code {ran.code}: {ran.err}"]
    if finished and not _changed(place, before):
        return "refused nothing: it was done already", []
    line, wrong = _refused(ran, "version", "99.0")
    return f"refused: {line}", wrong


def _changed(place: Place, before: dict[str, str]) -> bool:
    return place.results() != before


def _refused(ran: Ran, *words: str) -> tuple[str, list[str]]:
    """The one line of a refusal, and what is wrong with it."""
    lines = [line for line in ran.err.splitlines() if not PROGRESS.match(line)]
    one = ran.code == 2 and len(lines) == 1 and any(word in lines[0] for word in words)
    line = lines[-1] if lines else ""
    return line[:200], [] if one else [f"not refused: exit code {ran.code}: {ran.err[-400:]}"]


def _two(place: Place, last: int) -> tuple[str, list[str]]:
    """A second process while the first one stands still at its `last` file operation."""
    work = place.work

    def reached(count: int, path: str) -> None:
        if count == last:
            os.kill(os.getpid(), signal.SIGSTOP)

    def prepare() -> None:
        work.prepare()
        train_in_this_process()
        operations(place.path, reached)()

    outputs = place.path.parent / "first"
    outputs.mkdir()
    first = Child(command(work.command(place.path), prepare), outputs, cwd=place.path)
    stopped = os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    held = _held(place.path / "out" / "lock")
    second = place.run()
    if stopped is not None and stopped.si_code == os.CLD_STOPPED:
        os.kill(first.pid, signal.SIGCONT)
    ran = first.wait(SECONDS)
    if held:
        line, wrong = _refused(second, "in use by another process")
        if ran.code != 0:
            wrong.append(f"the first one: exit code {ran.code}: {ran.err[-400:]}")
        return f"the second one was refused: {line}", wrong
    both = [one for one in (ran, second) if one.code != 0]
    wrong = [one.err for one in both if _refused(one, "in use", "does not exist yet", "no longer",
             "holds", "No such file", "expected")[1]]  # fmt: skip
    if len(both) == 2:
        last_run = place.run()  # each may have been in the other's way, and said so
        wrong += [] if last_run.code == 0 else [f"both ended: {last_run.err[-300:]}"]
    said = both[0].err.strip().splitlines()[-1][:200] if both else ""
    return f"one of them was told: {said}" if both else "both did it", wrong


def _held(lock: Path) -> bool:
    """Whether a process has the lock of a folder."""
    import fcntl

    if not lock.exists():
        return False
    with lock.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno == errno.EWOULDBLOCK
    return False


def main() -> int:
    """Run the cases that are missing."""
    more = {"--workers": {"type": int, "default": 2, "help": "cases at a time"}}
    options = arguments(__doc__, COUNT, more)
    import_everything()
    kept = seeds()
    known = {work.name: reference(work, kept) for work in WORKLOADS}
    numbers = list(Record("together").left(options.count, again=options.again))

    def work(part: int) -> None:
        record = Record("together")
        for number in numbers[part :: options.workers]:
            found = run_case(number, kept, known)
            record.add(number, **found)
            if found["wrong"]:
                print(f"case {number}: {found}", flush=True)

    side_by_side(work, options.workers)
    wrong = [one for one in Record("together").cases.values() if one["wrong"]]
    print(f"together: {len(numbers)} cases run, {len(wrong)} wrong in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
