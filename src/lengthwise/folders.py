"""What the folders of runs, searches and studies share: a description, a lock and a log."""

import fcntl
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lengthwise.errors import InputError, require
from lengthwise.files import read_bytes

Folder = TypeVar("Folder")


class InUse(InputError):  # noqa: N818 - to wait is no error
    """Another process has the lock of a folder."""


def opened(path: Path, kind: str, format: int, build: Callable[[dict[str, Any]], Folder]) -> Folder:
    """What `build` makes of the folder's `KIND.json`, or an `InputError` that says what is wrong.

    Args:
        path: The folder.
        kind: "run" or "search".
        format: The format that this version writes.
        build: Takes the description; a key that it misses there means that the file is damaged.
    """
    file = path / f"{kind}.json"
    try:
        there = file.is_file()
    except (ValueError, OSError):  # a NUL in the path, or more than a path can be long
        there = False
    require(there, kind, str(path), f"a {kind} folder, with a {file.name} in it")
    try:
        description = msgspec.json.decode(read_bytes(file), type=dict[str, Any])
        version = description["format"]
        if version != format:
            raise InputError(
                f"format of {file} = {version!r}: expected {format}: another version of lengthwise "
                f"wrote it; make the {kind} again, or read it with that version"
            )
        return build(description)
    except InputError as error:
        raise InputError(
            f"{file}: {error}" if str(file) not in str(error) else str(error)
        ) from error
    except KeyError as error:
        raise InputError(f"{file}: {error.args[0]} is missing: the file is damaged") from error
    except Exception as error:  # a description can be wrong in ways that nobody thought of
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        raise InputError(f"{file} is damaged: expected the JSON of a {kind} ({reason})") from error


def make_new(path: Path, kind: str, inner: str, written: Mapping[str, str] | None = None) -> None:
    """Make a folder with one inside it, in a place where nothing is yet.

    What this leaves behind when it is killed half way is as good as nothing: the inner folder
    without anything in it, a hidden file, or one that would be written again as it is.

    Args:
        path: The folder; it may be there if it is empty.
        kind: What it will be the folder of.
        inner: The folder inside it.
        written: Texts by the names of files that are written before the description.

    Raises:
        InputError: Something is there, or the folder cannot be made.
    """
    expected = f"the folder of a {kind}, or one that does not exist yet: this holds other files"
    try:
        taken = path.exists() and (not path.is_dir() or not _left_over(path, inner, written or {}))
        require(not taken, "out", str(path), expected)
        (path / inner).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out = {str(path)!r}: cannot be made: {error.strerror}") from error


def _left_over(path: Path, inner: str, written: Mapping[str, str]) -> bool:
    """Whether a folder has nothing in it but what a kill may leave there."""
    for entry in path.iterdir():
        if entry.name.startswith("."):
            continue
        if entry.name == inner and entry.is_dir() and not any(entry.iterdir()):
            continue
        if entry.name not in written or read_bytes(entry) != written[entry.name].encode():
            return False
    return True


def require_checksum(file: Path, otherwise: str) -> None:
    """Raise `InputError` unless a file is what was written, by the checksum that its name ends in.

    Args:
        file: Its name is something, a dash and the CRC-32 of its content.
        otherwise: What can be done about it.
    """
    try:
        content = read_bytes(file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; {otherwise}") from error
    if f"{zlib.crc32(content):08x}" != file.stem.rpartition("-")[2]:
        expected = "what was written, with the checksum in its name"
        raise InputError(f"{file} is damaged: expected {expected}; {otherwise}")


@contextmanager
def locked(folder: Path, kind: str) -> Iterator[None]:
    """Lock a folder for this process; another one that tries gets an error naming its `kind`."""
    with os.fdopen(_opened(folder / "lock", os.O_RDWR), "w") as lock:
        try:
            # The system drops the lock when the process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InUse(
                f"{kind} = {str(folder)!r}: in use by another process; wait for it or end it"
            ) from None
        yield


def now() -> str:
    """The time, as folders note it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def log(folder: Path, event: str) -> None:
    """Add a line to a folder's log."""
    with os.fdopen(_opened(folder / "log.txt", os.O_WRONLY | os.O_APPEND), "ab") as file:
        file.write(f"{now()} {event}\n".encode("utf-8", "backslashreplace"))


def _opened(path: Path, flags: int) -> int:
    """Open a file of a folder to write to it, made if it is missing.

    The folder may come from somebody else: a link there would lead to any file of the user's, and a
    pipe would block.
    """
    try:
        handle = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"cannot write {path}: expected an ordinary file there")
    return handle
