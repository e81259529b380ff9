"""Writing files so that a reader never sees half of one, and reading only what is a file."""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.errors import InputError

if TYPE_CHECKING:
    import polars


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it takes the place of `path`.

    On any failure the temporary file is removed and `path` is left as it was. A disk that is full
    or not writable is bad input to us: it becomes an `InputError` of one line.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from error
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def regular(path: Path) -> Path:
    """`path` itself, if an ordinary file is there: a pipe would block, and a device has no end.

    Raises:
        OSError: Nothing is there, or no ordinary file; as reading it would raise.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
    return path


def read_bytes(path: Path) -> bytes:
    """The content of an ordinary file; raises `OSError` for anything else."""
    return regular(path).read_bytes()


def read_text(path: Path) -> str:
    """The same as text; what is not UTF-8 raises `UnicodeDecodeError`."""
    return regular(path).read_text(encoding="utf-8")


def read_parquet(path: Path, columns: list[str] | None = None) -> "polars.DataFrame":
    """The table in an ordinary file.

    A few damaged files make the reader panic, which is no `Exception`, and print pages about it.

    Raises:
        OSError: There is no such file.
        polars.exceptions.PolarsError: It is no whole table.
    """
    import polars

    regular(path)
    sys.stderr.flush()
    errors, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        return polars.read_parquet(path, columns=columns)
    except polars.exceptions.PanicException as error:
        reason = str(error).partition("\n")[0]
        raise polars.exceptions.ComputeError(reason) from error
    finally:
        os.dup2(errors, 2)
        os.close(errors)
        os.close(nothing)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`, all of it or nothing."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` produce a file at the path it is given, then move it to `path`."""
    with replacing(path) as temporary:
        write(temporary)


def _cannot_write(path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"cannot write {path}: {reason}; nothing that was there before is lost")
