"""No room at every write: one clear line, the last good state is kept, and it goes on later.

Three ways to have no room: a tmpfs of so many pages, a limit on how long a file may become, and an
operation that fails with "no space left" or "quota exceeded" in place of doing what it should, for
every opening of a file to write, every renaming and every making of a folder that a command does.
After the failure the same command is run again where there is room.
"""

import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soak._harness import (
    Child,
    Ran,
    Record,
    arguments,
    chance,
    command,
    digests,
    import_everything,
    side_by_side,
)
from soak.hostile import PROGRESS, train_in_this_process
from soak.seeds import seeds
from soak.workloads import WORKLOADS, Workload

SECONDS = 300.0
SHM = "/dev/shm" if Path("/dev/shm").is_dir() else None
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KEPT = ("chunks/", "records/", "lengths/", "moves-", "legal-", "measures")
"""How the paths of results begin that are never written again."""


def operations(place: Path, reached: Callable[[int, str], None]) -> Callable[[], None]:
    """What makes this process tell of every operation that needs room inside `place`."""

    def prepare() -> None:
        numbers = itertools.count(1)
        inside = str(place)

        def hook(event: str, values: tuple[Any, ...]) -> None:
            if event not in ("open", "os.rename", "os.mkdir"):
                return
            path = values[0]
            if not isinstance(path, str | os.PathLike):
                return
            name = os.path.abspath(os.fspath(path))  # noqa: PTH100 - of str and bytes alike
            writes = event != "open" or bool((values[2] or 0) & WRITING)
            if writes and isinstance(name, str) and name.startswith(inside):
                reached(next(numbers), name)

        sys.addaudithook(hook)

    return prepare


class Place:
    """A folder in which a kind of work is done with more or less room."""

    def __init__(self, work: Workload, path: Path, kept: Path) -> None:
        """Lay out what the work reads, beside where it writes."""
        self.work, self.path, self._outputs = work, path / "work", path
        self.path.mkdir(exist_ok=True)
        work.lay_out(self.path, kept)

    def run(
        self, reached: Callable[[int, str], None] | None = None, file_bytes: int | None = None
    ) -> Ran:
        """Run the command to its end, whatever that is."""

        def prepare() -> None:
            self.work.prepare()
            train_in_this_process()
            if reached is not None:
                operations(self.path, reached)()

        words = self.work.command(self.path)
        child = Child(command(words, prepare), self._outputs, cwd=self.path, file_bytes=file_bytes)
        return child.wait(SECONDS)

    def digest(self) -> str:
        """What came out, read in a process of its own."""
        target = self._outputs / "digest"

        def read() -> int:
            target.write_text(self.work.digest(self.path))
            return 0

        ran = Child(read, self._outputs).wait(SECONDS)
        return target.read_text() if ran.code == 0 else f"unreadable: {ran.err[-300:]}"

    def results(self) -> dict[str, str]:
        """Digests of what is done and stays."""
        folder = self.path / "out"
        found = digests(folder) if folder.is_dir() else {}
        return {name: one for name, one in found.items() if name.startswith(KEPT)}


def reference(work: Workload, kept: Path) -> dict[str, Any]:
    """What comes out with room enough, and how much is written."""
    with tempfile.TemporaryDirectory(dir=SHM) as name:
        place = Place(work, Path(name), kept)
        counted = Path(name) / "counted"
        handle = os.open(counted, os.O_WRONLY | os.O_CREAT)

        def keep(count: int, path: str) -> None:
            os.pwrite(handle, b"%08d" % count, 0)

        ran = place.run(keep)
        os.close(handle)
        if ran.code != 0:
            raise RuntimeError(f"{work.name}: {ran.err}")
        sizes = [path.stat().st_size for path in place.path.rglob("*") if path.is_file()]
        return {
            "digest": place.digest(),
            "operations": int(counted.read_text()),
            "pages": sum(-(-size // 4096) + 1 for size in sizes),
            "largest": max(sizes),
        }


def cases(known: dict[str, dict[str, Any]]) -> list[tuple[Workload, str, int]]:
    """Every case: a kind of work, a way to have no room, and where."""
    found = []
    for work in WORKLOADS:
        one = known[work.name]
        found += [(work, "operation", number) for number in range(1, one["operations"] + 1)]
        step = max(1, one["pages"] // 12)
        found += [(work, "tmpfs", pages) for pages in range(2, one["pages"] + step, step)]
        sizes = [1024 * round(1.6**power) for power in range(12)]
        found += [(work, "file size", size) for size in sizes if size <= 2 * one["largest"]]
    return found


def run_case(
    number: int, case: tuple[Workload, str, int], kept: Path, known: dict[str, Any]
) -> dict[str, Any]:
    """Run without room, then with room; what came out, as a line of the record."""
    work, way, where = case
    with tempfile.TemporaryDirectory(dir=SHM) as name:
        outside = Path(name)
        line, wrong = _runs(number, case, outside, kept, known[work.name])
    return {"work": work.name, "way": way, "where": where, "line": line, "wrong": wrong}


def _runs(
    number: int, case: tuple[Workload, str, int], outside: Path, kept: Path, known: dict[str, Any]
) -> tuple[str, list[str]]:
    work, way, where = case
    if way == "tmpfs":
        (outside / "work").mkdir()
        with small_disk(outside / "work", where) as resize:
            try:
                place = Place(work, outside, kept)
            except OSError:  # not even what it reads has room
                return "no room for the inputs", []
            first = place.run()
            before = place.results()
            resize(1 << 16)
            return _judged(place, first, before, known)
    place = Place(work, outside, kept)
    if way == "file size":
        first = place.run(file_bytes=where)
    else:
        code = chance("full disk", number).choice([errno.ENOSPC, errno.EDQUOT])

        def fail(count: int, path: str) -> None:
            if count >= where:  # from then on nothing fits
                raise OSError(code, os.strerror(code), path)

        first = place.run(fail)
    return _judged(place, first, place.results(), known)


def _judged(
    place: Place, first: Ran, before: dict[str, str], known: dict[str, Any]
) -> tuple[str, list[str]]:
    """Whether the failure was said well, and whether the work goes on where there is room."""
    wrong = []
    lines = [line for line in first.err.splitlines() if not PROGRESS.match(line)]
    if first.code not in (0, 2):
        wrong.append(f"exit code {first.code}, signal {first.signal}: {first.err[-400:]}")
    if "Traceback" in first.err:
        wrong.append("a traceback")
    if first.code == 2 and (len(lines) != 1 or not lines[0].startswith("lengthwise: ")):
        wrong.append(f"{len(lines)} lines in place of one: {first.err[-400:]}")
    last = place.run()
    if last.code != 0:
        wrong.append(f"does not go on: {last.err[-400:]}")
    after = place.results()
    wrong += [f"{name} was lost" for name, digest in before.items() if after.get(name) != digest]
    found = place.digest()
    if found != known["digest"]:
        wrong.append(f"{found} in place of {known['digest']}")
    return lines[-1][:200] if lines else "", wrong


@contextmanager
def small_disk(path: Path, pages: int) -> Iterator[Callable[[int], None]]:
    """A tmpfs of so many pages at `path`; gives what makes it larger."""
    size = f"size={4096 * pages}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", str(path)], check=True)

    def resize(pages: int) -> None:
        option = f"remount,size={4096 * pages}"
        subprocess.run(["mount", "-o", option, str(path)], check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def can_mount() -> bool:
    """Whether this process may mount a tmpfs."""
    with tempfile.TemporaryDirectory() as name:
        tried = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", name]
        if not shutil.which("mount") or subprocess.run(tried, capture_output=True).returncode:
            return False
        subprocess.run(["umount", name], check=True)
    return True


def main() -> int:
    """Run the cases that are missing."""
    more = {"--workers": {"type": int, "default": 2, "help": "cases at a time"}}
    options = arguments(__doc__, 1_000_000, more)
    import_everything()
    kept = seeds()
    known = {work.name: reference(work, kept) for work in WORKLOADS}
    print(json.dumps(known), flush=True)
    every = cases(known)
    mounts = can_mount()
    numbers = [
        number
        for number in Record("full_disk").left(min(options.count, len(every)), again=options.again)
        if mounts or every[number][1] != "tmpfs"
    ]
    if not mounts:
        print("full disk: this user may not mount a tmpfs: those cases are left out")
    side_by_side(
        lambda part: _work(numbers[part :: options.workers], every, kept, known), options.workers
    )
    wrong = [one for one in Record("full_disk").cases.values() if one["wrong"]]
    print(f"full disk: {len(numbers)} of {len(every)} cases run, {len(wrong)} wrong in all")
    return 1 if wrong else 0


def _work(numbers: Sequence[int], every: list[Any], kept: Path, known: dict[str, Any]) -> None:
    record = Record("full_disk")
    began = time.monotonic()
    for number in numbers:
        found = run_case(number, every[number], kept, known)
        record.add(number, **found, of=len(every))
        if found["wrong"]:
            print(f"case {number}: {found}", flush=True)
    print(f"{len(numbers)} cases in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
