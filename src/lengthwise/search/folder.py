"""A search on disk: a folder that explains itself and that the same command resumes.

search.json       what is searched, with which seed, how many trials were asked for, by which code
space.py          the file that defined the space, if one did
chunks/*.parquet  what was measured: one file per chunk of trials, there in whole or not at all
log.txt           what happened when
lock              held by the process that writes
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import polars

from lengthwise.errors import InputError, require
from lengthwise.files import write_bytes, write_text
from lengthwise.folders import locked, log, make_new, now, opened
from lengthwise.runs.description import converted
from lengthwise.runs.version import code_version
from lengthwise.search.objective import require_objective
from lengthwise.search.space import FILE, Space
from lengthwise.search.table import file_name, length_table, trial_numbers, trial_table

FORMAT = 2
"""Rises when a search folder of an older version can no longer be read."""


_KINDS = {
    "version": dict[str, Any],
    "command": list[str],
    "seed": int,
    "space": dict[str, Any],
    "objective": str,
    "asked": list[int],
}
"""What `search.json` must have, and of which type."""


class SearchFolder:
    """One search's folder: `create_or_open` it to run or resume it, `open` it to read it.

    Args:
        path: The folder.
        description: What its `search.json` says.
    """

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        """Use `create_or_open` or `open` instead."""
        self.path = path
        self.description = description
        for key, kind in _KINDS.items():
            converted(description[key], kind, key)
        names = description["space"]["hyperparameters"]
        converted(names, dict[str, dict[str, Any]], "space.hyperparameters")
        for part in ("lengthwise", "torch"):
            converted(description["version"][part], str, f"version.{part}")
        asked = self.asked
        rising = asked == sorted({*asked}) and all(trials >= 1 for trials in asked)
        require(rising, "asked", asked, "numbers of trials that rise")
        require_objective(self.objective)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a search folder to read it.

        Args:
            path: The folder.

        Raises:
            InputError: It holds no search, or a damaged one.
        """
        path = Path(path)
        return opened(path, "search", FORMAT, lambda description: cls(path, description))

    @classmethod
    def create_or_open(cls, path: Path, space: Space, seed: int, command: Sequence[str]) -> Self:
        """The search of `space` and `seed` at `path`, made if it is not there yet.

        Args:
            path: The folder.
            space: What is searched.
            seed: Seed of the trials.
            command: The words of the command line, for the record.

        Raises:
            InputError: The folder holds something else, or another search.
        """
        if (path / "search.json").exists():
            folder = cls.open(path)
            folder._require_same(space, seed)
            if folder.objective != space.objective:
                folder.description["objective"] = space.objective
                folder._save()
            return folder
        written = {} if space.source is None else {FILE: space.source[1]}
        make_new(path, "search", "chunks", written)
        description = {
            "format": FORMAT,
            "version": code_version(),
            "command": list(command),
            "created": now(),
            "seed": seed,
            "space": space.describe(),
            "objective": space.objective,
            "asked": [],
        }
        for name, text in written.items():
            write_text(path / name, text)
        folder = cls(path, description)
        folder._save()
        return folder

    @property
    def seed(self) -> int:
        """The search's seed."""
        return int(self.description["seed"])

    @property
    def objective(self) -> str:
        """What makes a trial the best, such as `tvd_beyond`."""
        return str(self.description["objective"])

    @property
    def asked(self) -> list[int]:
        """How many trials were asked for, each time that they became more."""
        return list(self.description["asked"])

    def ask(self, trials: int) -> list[range]:
        """Note that `trials` are wanted; the trials as ranges, one per time that more were asked.

        Trials of one range are packed together, so a search that is made larger leaves the fleets
        of its earlier trials as they were.

        Args:
            trials: How many trials there shall be in all.

        Raises:
            InputError: More were asked for before.
        """
        asked = self.asked
        least = asked[-1] if asked else 1
        what = f"at least {least}" + (", as were asked for before" if asked else "")
        require(trials >= least, "trials", trials, what)
        if trials not in asked:
            asked.append(trials)
            self.description["asked"] = asked
            self._save()
        return [range(a, b) for a, b in zip([0, *asked], asked, strict=False)]

    def locked(self) -> AbstractContextManager[None]:
        """Lock the search for this process; another one that tries gets an error."""
        return locked(self.path, "search")

    def in_use(self) -> bool:
        """Whether another process works on the search right now."""
        try:
            with self.locked():
                return False
        except InputError:
            return True

    def add(self, content: bytes) -> None:
        """Record a chunk: write its file, all of it or nothing.

        Args:
            content: A Parquet file of results, as bytes.
        """
        write_bytes(self.path / "chunks" / file_name(content), content)

    def files(self) -> list[Path]:
        """The files of the chunks that are done."""
        return sorted((self.path / "chunks").glob("*.parquet"))

    def done(self) -> set[int]:
        """The numbers of the trials that are recorded."""
        return trial_numbers(self.files())

    def table(self) -> polars.DataFrame:
        """One row per trial and set of weights: hyper-parameters, means within and beyond."""
        return trial_table(self.files())

    def by_length(self) -> polars.DataFrame:
        """One row per trial, set of weights and length, with a column per measure."""
        return length_table(self.files())

    def log(self, event: str) -> None:
        """Add a line to the search's log.

        Args:
            event: What happened.
        """
        log(self.path, event)

    def _save(self) -> None:
        write_text(self.path / "search.json", json.dumps(self.description, indent=1) + "\n")

    def _require_same(self, space: Space, seed: int) -> None:
        """Raise unless the folder's search is the one that is asked for."""
        if self.seed != seed:
            raise InputError(
                f"out = {str(self.path)!r}: holds a search with seed {self.seed}, not {seed}; "
                "give that seed, or another folder"
            )
        difference = _difference(self.description["space"], space.describe())
        if difference:
            raise InputError(
                f"out = {str(self.path)!r}: holds a search of another space: {difference}; give "
                "that space, or another folder"
            )
        started, now = self.description["version"], code_version()
        for part in ("lengthwise", "torch"):
            if started[part] != now[part]:
                raise InputError(
                    f"out = {str(self.path)!r}: was started with {part} {started[part]}, and "
                    f"{now[part]} is installed: its trials would not be comparable"
                )


def _difference(before: Any, now: Any, name: str = "") -> str:
    """The first thing in which two descriptions differ, in words."""
    if isinstance(before, dict) and isinstance(now, dict) and name in ("", *_NESTED):
        keys = [*before, *(key for key in now if key not in before)]
        if name == "defaults":  # a field that came or went is the code's doing, not the space's
            keys = [key for key in keys if key in before and key in now]
        for key in keys:
            found = _difference(before.get(key, "absent"), now.get(key, "absent"), key)
            if found:
                return found
        return ""
    if before == now:
        return ""
    if name == "code":
        return "the file that defines it has changed (space.py in the folder is the one it had)"
    return f"{name} was {json.dumps(before)}, and is {json.dumps(now)}"


_NESTED = ("hyperparameters", "defaults", "recipe", "task", "model")
