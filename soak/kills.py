"""SIGKILLs at random moments, and the same command again: every result is bit for bit the same.

A case is a kind of work in a folder of its own. It is killed one to four times and then left to
end, and what came out is compared with what comes out when nothing happens. Half of the kills come
at a random time, the others at a random one of the moments at which the command opens, renames or
removes a file. Where work is done by worker processes, some kills hit one of those. One case in
fifty uses processes that are started as a user starts them; all others are forked from a process
that has everything imported, and their workers come from a fork server: that is the one thing that
is not as in real life, and it saves some seconds each.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from random import Random
from typing import Any

from soak._harness import (
    ROOT,
    Child,
    Record,
    arguments,
    chance,
    command,
    fresh,
    import_everything,
    side_by_side,
)
from soak.seeds import seeds
from soak.workloads import WORKLOADS, Workload

KILLS = 1000
SECONDS = 300.0
FRESH_EVERY = 50
"""One case in so many uses fresh processes."""
SHM = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where cases lie: nothing there waits for a disk."""
EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "tempfile.mkstemp")


def watched(place: Path, reached: Callable[[int], None]) -> Callable[[], None]:
    """What makes this process count its file operations inside `place` and tell the number."""

    def prepare() -> None:
        count = 0
        inside = str(place)

        def hook(event: str, values: tuple[Any, ...]) -> None:
            nonlocal count
            if event not in EVENTS or not values or not isinstance(values[0], str | os.PathLike):
                return
            path = os.fspath(values[0])
            if isinstance(path, str) and (path.startswith(inside) or not path.startswith("/")):
                count += 1
                reached(count)

        sys.addaudithook(hook)

    return prepare


def use_fork_server() -> None:
    """Let pools of this process take workers from the fork server that its parent has started."""
    import multiprocessing

    from lengthwise import pool

    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[method-assign]
    # A worker would run the main module once more, which this one has done already.
    sys.modules["__main__"] = types.ModuleType("__main__")

    class Contexts:
        @staticmethod
        def get_context(name: str) -> Any:
            return multiprocessing.get_context("forkserver")

    setattr(pool, "multiprocessing", Contexts)  # noqa: B010 - mypy has it for no attribute


def start_fork_server() -> None:
    """Start it, once per process that forks cases."""
    os.environ["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"  # the server finds nothing by itself
    forkserver.set_forkserver_preload(["soak.warm"])
    forkserver.ensure_running()
    resource_tracker.ensure_running()


class Place:
    """A folder in which a kind of work is done, killed and done again."""

    def __init__(self, work: Workload, path: Path, kept: Path) -> None:
        """Lay out what the work reads."""
        self.work, self.path = work, path / "work"
        self.path.mkdir()
        self._outputs = path
        work.lay_out(self.path, kept)

    def start(self, reached: Callable[[int], None] = lambda count: None) -> Child:
        """Start the command in a forked process."""
        watch = watched(self.path, reached)

        def prepare() -> None:
            self.work.prepare()
            use_fork_server()
            watch()

        return Child(command(self.work.command(self.path), prepare), self._outputs, cwd=self.path)

    def digest(self) -> str:
        """What came out, read in a process of its own."""
        target = self._outputs / "digest"

        def read() -> int:
            target.write_text(self.work.digest(self.path))
            return 0

        ran = Child(read, self._outputs).wait(SECONDS)
        return target.read_text() if ran.code == 0 else f"unreadable: {ran.err[-300:]}"


def reference(work: Workload, kept: Path) -> dict[str, Any]:
    """What comes out when nothing happens, how long it takes and how many file operations."""
    with tempfile.TemporaryDirectory(dir=SHM) as name:
        place = Place(work, Path(name), kept)
        counted = Path(name) / "counted"
        handle = os.open(counted, os.O_WRONLY | os.O_CREAT)

        def keep(count: int) -> None:
            os.pwrite(handle, b"%08d" % count, 0)

        ran = place.start(keep).wait(SECONDS)
        os.close(handle)
        if ran.code != 0:
            raise RuntimeError(f"{work.name}: {ran.err}")
        return {
            "digest": place.digest(),
            "seconds": ran.seconds,
            "operations": int(counted.read_text()),
        }


def run_case(number: int, kept: Path, known: dict[str, Any]) -> dict[str, Any]:
    """Kill and go on; what came out, as a line of the record."""
    rng = chance("kills", number)
    work = WORKLOADS[number % len(WORKLOADS)]
    real = number % FRESH_EVERY == FRESH_EVERY - 1 and work.name != "compare"
    with tempfile.TemporaryDirectory(dir=SHM) as name:
        place = Place(work, Path(name), kept)
        moments: list[str] = []
        if real:
            wrong = _kill_fresh(rng, place, moments)
        else:
            for _ in range(rng.randint(1, 4)):
                if not _kill(rng, place, known[work.name], moments):
                    break
            wrong = _finish(place)
        found = place.digest()
    if found != known[work.name]["digest"]:
        wrong.append(f"{found} in place of {known[work.name]['digest']}")
    return {"work": work.name, "fresh": real, "kills": len(moments), "at": moments, "wrong": wrong}


def _kill(rng: Random, place: Place, known: dict[str, Any], moments: list[str]) -> bool:
    """Kill the command once; False if it was done before."""
    kind = rng.choice(["time", "operation"])
    if place.work.name in ("search", "compare") and rng.random() < 0.25:
        return _kill_worker(rng, place, known, moments)
    if kind == "operation":
        last = rng.randint(1, known["operations"])

        def reached(count: int) -> None:
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)

        ran = place.start(reached).wait(SECONDS)
        if ran.signal == signal.SIGKILL and not ran.late:
            moments.append(f"operation {last}")
        return ran.code is None
    seconds = rng.random() * known["seconds"]
    child = place.start()
    running = child.running(seconds)
    if running:
        child.kill()
        moments.append(f"{seconds:.3f} s")
    child.wait(SECONDS)
    return running


def _kill_worker(rng: Random, place: Place, known: dict[str, Any], moments: list[str]) -> bool:
    """Kill one worker process; the command itself goes on and gives its job to another one."""
    child = place.start()
    began = time.monotonic()
    wait = rng.random() * known["seconds"]
    while child.running(0.01):
        workers = _workers()
        if workers and time.monotonic() - began > wait:
            os.kill(rng.choice(workers), signal.SIGKILL)
            moments.append(f"a worker after {time.monotonic() - began:.3f} s")
            break
    ran = child.wait(SECONDS)
    if ran.code != 0:
        raise AssertionError(f"a lost worker ended the command: {ran.err[-500:]}")
    return False


def _workers() -> list[int]:
    """The processes that this process's fork server has started."""
    parent = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(word) for word in listed.split()]


def _finish(place: Place) -> list[str]:
    ran = place.start().wait(SECONDS)
    if ran.code != 0:
        return [f"exit code {ran.code}: {ran.err[-500:]}"]
    left = [str(path) for path in place.path.rglob(".*") if path.is_file()]
    # A kill leaves hidden temporary files behind; none of them may count for anything.
    return [] if len(left) < 20 else [f"{len(left)} hidden files were left behind"]


def _kill_fresh(rng: Random, place: Place, moments: list[str]) -> list[str]:
    """The same with processes as a user starts them."""
    process = fresh(place.work.command(place.path), cwd=place.path)
    seconds = rng.uniform(1.0, 15.0)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        moments.append(f"{seconds:.3f} s, a fresh process")
    for _ in range(60):  # workers of the killed one may still be on their way to their end
        last = fresh(place.work.command(place.path), cwd=place.path)
        _, err = last.communicate()
        if last.returncode == 0:
            return []
        if "in use by another process" not in err:
            break
        time.sleep(1)
    return [f"exit code {last.returncode}: {err[-500:]}"]


def main() -> int:
    """Run cases until there were so many kills."""
    more = {"--workers": {"type": int, "default": 2, "help": "cases at a time"}}
    options = arguments(__doc__, KILLS, more)
    import_everything()
    kept = seeds()
    side_by_side(lambda part: _work(part, options, kept), options.workers)
    cases = Record("kills").cases.values()
    wrong = [one for one in cases if one["wrong"]]
    print(f"kills: {sum(one['kills'] for one in cases)} kills, {len(wrong)} cases wrong")
    return 1 if wrong else 0


def _work(part: int, options: Any, kept: Path) -> None:
    start_fork_server()
    known = {work.name: reference(work, kept) for work in WORKLOADS}
    print(json.dumps(known), flush=True)
    wrong = [number for number, one in Record("kills").cases.items() if one["wrong"]]
    again = [number for number in wrong if number % options.workers == part and options.again]
    for number in itertools.chain(again, itertools.count(part, options.workers)):
        record = Record("kills")
        if number in again or number not in record.cases:
            over = sum(one["kills"] for one in record.cases.values()) >= options.count
            if over and number not in again:
                break
            found = run_case(number, kept, known)
            record.add(number, **found)
            if found["wrong"]:
                print(f"case {number}: {found}", flush=True)
    time.sleep(2)
    if _workers():
        print(f"workers outlived their commands: {_workers()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
