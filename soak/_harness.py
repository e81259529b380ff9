"""What the tests of a soak share: the record, forked commands within bounds, digests of folders."""

import argparse
import gc
import hashlib
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

RECORD = Path(os.environ.get("LENGTHWISE_SOAK_RECORD") or ROOT / "soak-record")
"""Where lines of JSON are kept; outside of git."""

NOBODY = 65534
"""The user that may do nothing; a test that runs as root becomes it where permissions matter."""


def chance(test: str, case: int | str) -> random.Random:
    """The random numbers of a case: the same whenever and wherever it is run."""
    return random.Random(f"{test}/{case}")


class Record:
    """The lines of one test, by the number of the case; the newest line of a case counts."""

    def __init__(self, test: str) -> None:
        """Read what is there."""
        self.path = RECORD / f"{test}.jsonl"
        self.cases: dict[int, dict[str, Any]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                one = _line(line)
                if one is not None:
                    self.cases[one["case"]] = one

    def add(self, case: int, **values: Any) -> None:
        """Append what came out of a case."""
        one = {"case": case, **values, "code": code_digest()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
        self.cases[case] = one

    def left(self, count: int, *, again: bool = False) -> Iterator[int]:
        """The cases below `count` that were not run yet, or also those that went wrong."""
        for case in range(count):
            known = self.cases.get(case)
            if known is None or (again and known["wrong"]):
                yield case


def _line(line: str) -> dict[str, Any] | None:
    """A line of a record; None for one that was cut by a kill."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return found


def code_digest() -> str:
    """A digest of the package's source, so that a record says which code it is about."""
    global _DIGEST
    if not _DIGEST:
        made = hashlib.sha256()
        for path in sorted((ROOT / "src").rglob("*.py")):
            made.update(path.read_bytes())
        _DIGEST = made.hexdigest()[:10]
    return _DIGEST


_DIGEST = ""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int | None
    """The exit code; None if it was ended by a signal."""
    signal: int
    """The signal that ended it; 0 if none did."""
    late: bool
    """Whether it was ended because its time was over."""
    out: str
    err: str
    seconds: float
    processor: float
    """Seconds that it worked."""
    megabytes: float
    """Its largest resident memory."""


class Child:
    """A command in a forked process, which has everything imported already."""

    def __init__(self, do: Callable[[], int | None], folder: Path, **bounds: Any) -> None:
        """Start it.

        Args:
            do: What it does; what it returns is the exit code.
            folder: Where its output goes, in files `out` and `err`.
            bounds: See `_child`.
        """
        self._outputs = folder / "out", folder / "err"
        self.began = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _child(do, *self._outputs, **bounds)
        self._handle = os.pidfd_open(self.pid)

    def kill(self) -> None:
        """End it and what it started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(self.pid, signal.SIGKILL)  # it has no group of its own yet

    def running(self, seconds: float) -> bool:
        """Whether it still runs after so many seconds, or less if it ends."""
        return not select.select([self._handle], [], [], max(0.0, seconds))[0]

    def wait(self, seconds: float) -> Ran:
        """What it did; it is ended after so many seconds."""
        late = self.running(seconds)
        if late:
            self.kill()
        _, status, used = os.wait4(self.pid, 0)
        taken = time.monotonic() - self.began
        os.close(self._handle)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # whatever it has left behind
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        out, err = (
            path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            for path in self._outputs
        )
        worked = used.ru_utime + used.ru_stime
        return Ran(code, ended, late, out, err, taken, worked, used.ru_maxrss / 1024)


def _child(
    do: Callable[[], int | None],
    out: Path,
    err: Path,
    *,
    prepare: Callable[[], None] = lambda: None,
    cwd: Path | None = None,
    memory: int | None = None,
    file_bytes: int | None = None,
    nobody: bool = False,
) -> None:
    """The life of a forked process; it never returns.

    Args:
        do: What to do.
        out: Where its output goes.
        err: Where its errors go.
        prepare: What it does before any bound holds.
        cwd: Where it works.
        memory: How many bytes more than now it may map.
        file_bytes: How long a file of its may become.
        nobody: Whether it may do only what everybody may.
    """
    code = 70
    try:
        os.setpgid(0, 0)
        for number, path in ((1, out), (2, err)):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(handle, number)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        prepare()
        if cwd is not None:
            os.chdir(cwd)
        if memory is not None:
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))
        if file_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        if nobody and os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        code = do() or 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def command(
    arguments: Iterable[str], prepare: Callable[[], None] = lambda: None
) -> Callable[[], int]:
    """A lengthwise command as a function for `Child`."""
    words = list(arguments)

    def do() -> int:
        from lengthwise.cli import main

        sys.argv = ["lengthwise", *words]
        prepare()
        return main(words)

    return do


def fresh(arguments: Iterable[str], **options: Any) -> "subprocess.Popen[str]":
    """A lengthwise command in a process of its own, as a user starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-m", "lengthwise", *arguments], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment, start_new_session=True, **options,
    )  # fmt: skip


def side_by_side(work: Callable[[int], None], count: int) -> None:
    """Do `work(0)` ... `work(count - 1)` in forked processes of their own, and wait for all."""
    sys.stdout.flush()
    sys.stderr.flush()
    started = []
    for part in range(count):
        process = os.fork()
        if process == 0:
            code = 1
            try:
                work(part)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        started.append(process)
    for process in started:
        _, status = os.waitpid(process, 0)
        if status != 0:
            raise RuntimeError("a part of the soak failed")


def digests(folder: Path) -> dict[str, str]:
    """What is in a folder: a digest by path for files, other words for what is no file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_dir():
            found[name] = "folder"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "special"
    return found


_LATE = (
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.pyplot",
    "rich.progress", "tyro", "gguf", "transformers.modeling_gguf_pytorch_utils",
    "transformers.models.llama.modeling_llama", "tokenizers",
)  # fmt: skip
"""What commands import only when they need it."""


def import_everything() -> None:
    """Import all that commands import while they run, so that forked ones need not."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    import importlib
    import pkgutil

    import torch

    torch.set_num_threads(1)
    import lengthwise

    walked = pkgutil.walk_packages(lengthwise.__path__, "lengthwise.")
    for name in (*(one.name for one in walked), *_LATE):
        if not name.endswith("__main__"):
            importlib.import_module(name)
    from matplotlib import font_manager

    font_manager.findfont("DejaVu Sans")

    importlib.import_module("soak.warm")
    gc.collect()
    gc.freeze()  # so that forked processes share these pages
    # The state of whoever runs the soak is left alone.
    os.environ["XDG_STATE_HOME"] = str(RECORD / "state")


def arguments(description: str, count: int, more: Mapping[str, Any] | None = None) -> Any:
    """The options of a test: `--count` and `--again`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=count, help="how many cases there shall be")
    parser.add_argument("--again", action="store_true", help="run those again that went wrong")
    for name, options in (more or {}).items():
        parser.add_argument(name, **options)
    return parser.parse_args()
