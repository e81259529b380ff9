"""Append-only files of records, each complete and checksummed.

A record is a header of 16 bytes and a payload. The header holds a mark, the payload's length and
checksum, and a checksum of these; so a file that ends too early can be told from a damaged one.
"""

import mmap
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from lengthwise.errors import InputError

MARK = b"LWS1"
_FIELDS = struct.Struct("<4sII")
_CHECK = struct.Struct("<I")
HEADER = _FIELDS.size + _CHECK.size


def frame(payload: bytes) -> bytes:
    """A payload as a record."""
    fields = _FIELDS.pack(MARK, len(payload), zlib.crc32(payload))
    return fields + _CHECK.pack(zlib.crc32(fields)) + payload


def read_shard(path: Path) -> Iterator[memoryview]:
    """The payloads of all complete records of a shard, as views of its content.

    A last record that a kill cut short is left out. Anything else that is not as it was written
    raises `InputError` with the name of the shard.
    """
    content = _mapped(path)
    place = 0
    while place + HEADER <= len(content):
        fields = content[place : place + _FIELDS.size]
        (check,) = _CHECK.unpack_from(content, place + _FIELDS.size)
        mark, length, checksum = _FIELDS.unpack(fields)
        if mark != MARK or check != zlib.crc32(fields):
            raise _damaged(path, place)
        payload = content[place + HEADER : place + HEADER + length]
        if len(payload) < length:
            return
        if checksum != zlib.crc32(payload):
            raise _damaged(path, place)
        yield payload
        place += HEADER + length


def _mapped(path: Path) -> memoryview:
    """The content of a file, without a copy of it; it stays readable if the file grows."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class ShardWriter:
    """Writes one new shard, which no other process ever writes."""

    def __init__(self, folder: Path) -> None:
        """Choose the next free name in `folder`; the file is made with its first records."""
        self._folder = folder
        self._file: int | None = None

    def append(self, payloads: Sequence[bytes]) -> None:
        """Write records to the disk, and wait until they are there."""
        content = memoryview(b"".join(map(frame, payloads)))
        try:
            if self._file is None:
                self._file = self._create()
            while content:
                content = content[os.write(self._file, content) :]
            os.fsync(self._file)
        except OSError as error:
            raise InputError(
                f"cannot write to {self._folder}: {error.strerror or error}; the trials recorded "
                "so far are kept, and the same command goes on from them"
            ) from error

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _create(self) -> int:
        number = max((int(path.stem) for path in shards(self._folder)), default=-1) + 1
        path = self._folder / f"{number:06d}.shard"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)


def shards(folder: Path) -> list[Path]:
    """The shards of a folder, oldest first."""
    return sorted(folder.glob("*.shard"))


def _damaged(path: Path, place: int) -> InputError:
    return InputError(
        f"{path} is damaged at byte {place}: expected a record as it was written; move the file "
        "away, and the search runs its trials again"
    )
