"""What the folders of runs and searches share: a lock and a log."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lengthwise.errors import InputError


@contextmanager
def held(folder: Path, kind: str) -> Iterator[None]:
    """Hold a folder for this process; another one that tries gets an error naming its `kind`."""
    with (folder / "lock").open("w") as lock:
        try:
            # The system drops the lock when the process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{kind} = {str(folder)!r}: in use by another process; wait for it or end it"
            ) from None
        yield


def now() -> str:
    """The time, as folders note it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def log(folder: Path, event: str) -> None:
    """Add a line to a folder's log."""
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(f"{now()} {event}\n")
