"""A study on disk: a folder that explains itself and that the same command resumes.

study.json         what is compared, by which code and command
records/*.parquet  what came out: the records of some cells each, there in whole or not at all
log.txt            what happened when
lock               held by the process that writes

The page and its tables are made of these and can be made again at any time.
"""

import json
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import polars

from lengthwise.comparing.records import read_records, to_bytes
from lengthwise.comparing.study import Study, study_from_json
from lengthwise.files import write_bytes, write_text
from lengthwise.folders import locked, log, make_new, now, opened, require_checksum
from lengthwise.runs.version import code_version

FORMAT = 1
"""Rises when a study's folder of an older version can no longer be read."""

MOST_FILES = 64
"""More files of records than that are made one, so that large studies open fast."""


class StudyFolder:
    """One study's folder: `create_or_open` it to train, `open` it to read.

    Args:
        path: The folder.
        description: What its `study.json` says.
    """

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        """Use `create_or_open` or `open` instead."""
        self.path = path
        self.description = description
        self.study = study_from_json(description["study"])

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the folder of a study to read it.

        Args:
            path: The folder.

        Raises:
            InputError: It holds no study, or a damaged one.
        """
        path = Path(path)
        return opened(path, "study", FORMAT, lambda description: cls(path, description))

    @classmethod
    def create_or_open(cls, path: Path | str, study: Study, command: Sequence[str]) -> Self:
        """The study at `path` with all that `study` asks for, made if it is not there yet.

        Args:
            path: The folder.
            study: What is compared.
            command: The words of the command line, for the record.

        Raises:
            InputError: The folder holds something else, or a study that does not go with this one.
        """
        path = Path(path)
        if (path / "study.json").exists():
            folder = cls.open(path)
            joined = folder.study.joined(study)
            if joined != folder.study:
                with folder.locked():
                    folder._keep(joined)
            return folder
        make_new(path, "study", "records")
        description = {
            "format": FORMAT,
            "version": code_version(),
            "command": list(command),
            "created": now(),
            "study": study.to_json(),
        }
        folder = cls(path, description)
        folder._keep(study)
        return folder

    def locked(self) -> AbstractContextManager[None]:
        """Lock the study for this process; another one that tries gets an error."""
        return locked(self.path, "study")

    def files(self) -> list[Path]:
        """The files of records, in the order in which they were written."""
        return sorted((self.path / "records").glob("[0-9]*.parquet"))

    def records(self) -> polars.DataFrame:
        """All records, each cell once.

        Raises:
            InputError: A file is damaged.
        """
        for file in self.files():
            require_checksum(file, "move the file away, and its cells are trained again")
        return read_records(self.files())

    def add(self, content: bytes) -> None:
        """Keep records; whoever calls this holds the lock.

        Args:
            content: A Parquet file of records, as bytes.
        """
        files = self.files()
        number = 1 + (int(files[-1].stem.partition("-")[0]) if files else 0)
        name = f"{number:06d}-{zlib.crc32(content):08x}.parquet"
        write_bytes(self.path / "records" / name, content)

    def gather(self) -> None:
        """Make one file of many; whoever calls this holds the lock.

        A kill in between leaves records twice, and a reader takes each cell once.
        """
        files = self.files()
        if len(files) > MOST_FILES:
            self.add(to_bytes(self.records()))
            for file in files:
                file.unlink()

    def log(self, event: str) -> None:
        """Add a line to the study's log.

        Args:
            event: What happened.
        """
        log(self.path, event)

    def _keep(self, study: Study) -> None:
        self.study = study
        self.description["study"] = study.to_json()
        write_text(self.path / "study.json", json.dumps(self.description, indent=1) + "\n")
