"""A run on disk: a folder that explains itself and can be resumed.

run.json                        what is trained, by which code and command
log.txt                         what happened when
checkpoints/step-N.safetensors  the whole state of training; the last two are kept
measures-at-N.parquet           what was measured on the way, after N steps
measured-N.parquet              the first N pieces of the next, while the run is being measured
measures.parquet                one row per model, weights, length and measure; ends the run
lock                            held by the process that trains
"""

import dataclasses
import io
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Self

import polars
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from lengthwise.averaging import require_live
from lengthwise.errors import InputError, require
from lengthwise.files import read_parquet, regular, write_bytes, write_text
from lengthwise.folders import locked, log, now, opened
from lengthwise.runs.description import (
    converted,
    hyperparameters_from_json,
    recipe_from_json,
    recipe_to_json,
)
from lengthwise.runs.recipe import Recipe
from lengthwise.runs.table import require_table
from lengthwise.runs.version import code_version
from lengthwise.training import Hyperparameters
from lengthwise.training.devices import require_device

FORMAT = 2
"""Rises when a run folder of an older version can no longer be read."""

KEPT_CHECKPOINTS = 2


class RunFolder:
    """One run's folder: `create` a new one or `open` one that is there.

    Args:
        path: The folder.
        description: What its `run.json` says.
    """

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        """Use `create` or `open` instead."""
        self.path = path
        self.description = description
        self.recipe = recipe_from_json(description["recipe"])
        self.hyperparameters = hyperparameters_from_json(description["hyperparameters"])
        """What each model of the run trains with."""
        self.version: dict[str, str] = converted(description["version"], dict[str, str], "version")
        """Which code made the run."""
        self.command: list[str] = converted(description["command"], list[str], "command")
        """The command that made the run."""

    @classmethod
    def create(
        cls,
        path: Path | str,
        recipe: Recipe,
        hyperparameters: Sequence[Hyperparameters],
        command: Sequence[str],
        *,
        overwrite: bool = False,
    ) -> Self:
        """Make a new run folder. One that exists is replaced only if `overwrite` says so.

        Args:
            path: Where.
            recipe: What is trained.
            hyperparameters: What each model trains with.
            command: The command that made it, for the record.
            overwrite: Whether to replace a run that is there and not in use.

        Raises:
            InputError: The recipe cannot be kept or trained here, or the folder cannot be made;
                nothing is written then.
        """
        path = Path(path)
        require_device(recipe.device)
        require(len(hyperparameters) > 0, "hyperparameters", [], "at least one model")
        with torch.device("meta"):  # says what is wrong with a model's rates
            for one in {dataclasses.replace(one, seed=0, trial=0) for one in hyperparameters}:
                recipe.build(one)
        recipe.require_used(hyperparameters)
        description = {
            "format": FORMAT,
            "version": code_version(),
            "command": list(command),
            "created": now(),
            "recipe": recipe_to_json(recipe),
            "hyperparameters": [dataclasses.asdict(one) for one in hyperparameters],
        }
        started = None
        if recipe.start_from is not None:
            started = recipe.trainer(hyperparameters).state_dict()
        _clear(path, lambda: cls.open(path).locked(), overwrite=overwrite)
        try:
            path.mkdir(parents=True, exist_ok=True)  # killed here, it is still as good as none
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"out = {str(path)!r}: cannot be made: {reason}") from error
        write_text(path / "run.json", json.dumps(description, indent=1) + "\n")
        (path / "checkpoints").mkdir(exist_ok=True)
        folder = cls(path, description)
        if started is not None:  # from here on the run needs the other one no more
            folder.save_checkpoint(0, started)
        return folder

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a run folder to read it.

        Args:
            path: The folder.

        Raises:
            InputError: It holds no run, or a damaged one.
        """
        path = Path(path)
        return opened(path, "run", FORMAT, lambda description: cls(path, description))

    def require_same_version(self) -> None:
        """Raise unless the code that runs now is the version that started the run.

        Raises:
            InputError: It is another version.
        """
        started, now = self.version.get("lengthwise"), code_version()["lengthwise"]
        expected = f"{now}, the version installed: training would not continue bit for bit"
        require(started == now, f"version of {self.path}", started, expected)

    def locked(self) -> AbstractContextManager[None]:
        """Lock the run for this process; another one that tries gets an error."""
        return locked(self.path, "run")

    @property
    def finished(self) -> bool:
        """Whether the run has been trained and measured."""
        return self._table.is_file()

    @property
    def _table(self) -> Path:
        return self.path / "measures.parquet"

    def checkpoints(self) -> list[Path]:
        """The checkpoints that are there, oldest first."""
        return sorted((self.path / "checkpoints").glob("step-*.safetensors"))

    def newest_step(self) -> int:
        """The step of the newest checkpoint; 0 before the first."""
        checkpoints = self.checkpoints()
        return int(checkpoints[-1].stem.removeprefix("step-")) if checkpoints else 0

    def save_checkpoint(self, step: int, state: dict[str, Tensor]) -> None:
        """Write the state of training; then drop all but the newest checkpoints.

        Args:
            step: Steps that were taken.
            state: All that training needs to go on.

        Raises:
            AveragingError: A tensor carries averaged weights.
        """
        require_live(state)
        path = self.path / "checkpoints" / f"step-{step:09d}.safetensors"
        path.parent.mkdir(exist_ok=True)
        write_bytes(path, save({name: tensor.contiguous() for name, tensor in state.items()}))
        for old in self.checkpoints()[:-KEPT_CHECKPOINTS]:
            with suppress(FileNotFoundError):
                old.unlink()

    def load_checkpoint(self) -> dict[str, Tensor] | None:
        """The newest state of training, or None before the first checkpoint.

        Raises:
            InputError: The newest checkpoint is damaged.
        """
        checkpoints = self.checkpoints()
        if not checkpoints:
            return None
        newest = checkpoints[-1]
        try:
            return load_file(regular(newest))
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"{newest} is damaged ({error}): remove it, and the run resumes from the "
                "checkpoint before it"
            ) from error

    def save_table(self, table: polars.DataFrame) -> None:
        """Write the table of measures, which ends the run.

        Args:
            table: Rows of model, measure, length and value.
        """
        _write_table(self._table, table)
        self._drop_pieces(keep=0)

    def save_pieces(self, count: int, pieces: Sequence[polars.DataFrame]) -> None:
        """Write what is measured so far of a run that is trained.

        Args:
            count: How many pieces there will be.
            pieces: Those that are done.
        """
        _write_table(self.path / f"measured-{count:06d}.parquet", polars.concat(pieces))
        self._drop_pieces(keep=1)

    def load_pieces(self) -> tuple[int, list[polars.DataFrame]]:
        """How many pieces are measured, and what was."""
        kept = self._pieces()
        if not kept:
            return 0, []
        return int(kept[-1].stem.removeprefix("measured-")), [_read_table(kept[-1])]

    def _pieces(self) -> list[Path]:
        return sorted(self.path.glob("measured-*.parquet"))

    def _drop_pieces(self, keep: int) -> None:
        kept = self._pieces()
        for old in kept[: len(kept) - keep]:
            with suppress(FileNotFoundError):
                old.unlink()

    def has_table_at(self, step: int) -> bool:
        """Whether the run was measured after this step, on the way.

        Args:
            step: One of the recipe's `test_steps`.
        """
        return self._table_at(step).is_file()

    def save_table_at(self, step: int, table: polars.DataFrame) -> None:
        """Write what was measured on the way.

        Args:
            step: One of the recipe's `test_steps`.
            table: Rows as in `save_table`.
        """
        _write_table(self._table_at(step), table)

    def tables_at(self) -> dict[int, polars.DataFrame]:
        """What was measured on the way, by step; empty where nothing was."""
        return {step: _read_table(self._table_at(step)) for step in self.recipe.test_steps}

    def _table_at(self, step: int) -> Path:
        return self.path / f"measures-at-{step}.parquet"

    def table(self) -> polars.DataFrame:
        """The table of measures of a finished run, with the models' hyper-parameters.

        Raises:
            InputError: The run is not finished.
        """
        require(self.finished, "run", str(self.path), "a finished run ('lengthwise resume' it)")
        return _read_table(self._table)

    def log(self, event: str) -> None:
        """Add a line to the run's log.

        Args:
            event: What happened.
        """
        log(self.path, event)


def _write_table(path: Path, table: polars.DataFrame) -> None:
    content = io.BytesIO()
    table.write_parquet(content)
    write_bytes(path, content.getvalue())


def _read_table(path: Path) -> polars.DataFrame:
    try:
        table = read_parquet(path)
        require_table(table)
        return table
    except (polars.exceptions.PolarsError, OSError, InputError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} is damaged ({reason}): remove it, and 'lengthwise resume {path.parent}' "
            "measures again"
        ) from error


def _clear(
    path: Path, lock: Callable[[], AbstractContextManager[None]], *, overwrite: bool
) -> None:
    """Remove the run at `path`, if there is one, it may be replaced and is not in use."""
    try:
        # Killed while it is made, a run leaves a hidden file: that is as good as nothing.
        taken = path.exists() and any(
            entry.name != "lock" and not entry.name.startswith(".run.json.")
            for entry in path.iterdir()
        )
    except (OSError, ValueError) as error:
        raise InputError(f"out = {str(path)!r}: expected the path of a folder ({error})") from error
    if not taken:
        return
    if not overwrite:
        raise InputError(
            f"out = {str(path)!r}: expected a folder that does not exist yet; resume it with "
            f"'lengthwise resume {path}', or start anew with --overwrite"
        )
    with lock():
        pass
    shutil.rmtree(path)
