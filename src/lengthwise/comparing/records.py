"""The records of cells: one row each in Parquet, with all that a reader needs to check them.

A record holds its recipe, so that the cell can be trained again, and a digest of what was measured,
so that a changed number is seen. Columns: `cell` (digest of all that the cell is a function of),
`remedy`, `task`, `model`, `learning_rate`, `seed`, `recipe` and `hyperparameters` (JSON), `fleet`
(the cells that it trained beside, in order), `rules`, `lengthwise` (version and arithmetic:
`trained_by`), `torch`, `commit`, `processor`,
`seconds` (of its share of the fleet's time), `cost` (time of a step over the baseline's),
`parameters`, `diverged` (the step, or null), the lists `weights`, `step`, `length`, `measure` and
`value`, and `digest`.
"""

import hashlib
import io
import platform
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars

from lengthwise.comparing.cells import (
    ARITHMETIC,
    RULES,
    Job,
    cell_hash,
    cell_recipe,
    compact,
    hashes,
)
from lengthwise.errors import InputError, require
from lengthwise.files import read_parquet
from lengthwise.registry import MODELS, TASKS
from lengthwise.runs.version import code_version
from lengthwise.training import Trainer

if TYPE_CHECKING:
    from lengthwise.comparing.work import Value

LISTS = {
    "weights": polars.String, "step": polars.Int64, "length": polars.Int64,
    "measure": polars.String, "value": polars.Float32,
}  # fmt: skip
"""What was measured, value by value."""

SCHEMA: dict[str, Any] = {
    "cell": polars.String, "remedy": polars.String, "task": polars.String, "model": polars.String,
    "learning_rate": polars.Float64, "seed": polars.Int64, "recipe": polars.String,
    "hyperparameters": polars.String, "fleet": polars.List(polars.String), "rules": polars.Int64,
    "lengthwise": polars.String, "torch": polars.String, "commit": polars.String,
    "processor": polars.String, "seconds": polars.Float64, "cost": polars.Float64,
    "parameters": polars.Int64, "diverged": polars.Int64,
    **{name: polars.List(kind) for name, kind in LISTS.items()}, "digest": polars.String,
}  # fmt: skip


def trained_by() -> str:
    """What trains now: the version of the package and the number of its arithmetic."""
    return f"{code_version()['lengthwise']}+arithmetic.{ARITHMETIC}"


def records_file(
    job: Job,
    trainer: Trainer,
    measured: "Sequence[Sequence[Value]]",
    seconds: float,
    cost: float,
) -> bytes:
    """The records of a trained fleet, as the content of a Parquet file."""
    cells = hashes(job)
    version = code_version()
    recipe = compact(cell_recipe(job.recipe))
    rows = []
    for place, (hyperparameters, values) in enumerate(
        zip(job.hyperparameters, measured, strict=True)
    ):
        diverged = int(trainer.diverged[place])
        row: dict[str, Any] = {
            "cell": cells[place],
            "remedy": job.remedy,
            "task": TASKS.key_of(type(job.recipe.task)),
            "model": MODELS.key_of(type(job.recipe.model)),
            "learning_rate": hyperparameters.learning_rate,
            "seed": hyperparameters.seed,
            "recipe": recipe,
            "hyperparameters": compact(asdict(hyperparameters)),
            "fleet": cells,
            "rules": RULES,
            "lengthwise": trained_by(),
            **{name: version[name] for name in ("torch", "commit")},
            "processor": processor(),
            "seconds": seconds / len(cells),
            "cost": cost,
            "parameters": trainer.fleet.weights.shape[1],
            "diverged": None if diverged < 0 else diverged,
            **{name: [getattr(value, name) for value in values] for name in LISTS},
        }
        rows.append(row | {"digest": digest(row)})
    return to_bytes(polars.DataFrame(rows, schema=SCHEMA))


def to_bytes(records: polars.DataFrame) -> bytes:
    """Records as the content of a Parquet file."""
    content = io.BytesIO()
    records.write_parquet(content, compression="zstd")
    return content.getvalue()


def digest(row: dict[str, Any]) -> str:
    """A digest of all that a record says."""
    made = hashlib.sha256()
    for name in SCHEMA:
        if name not in ("value", "digest"):
            made.update(compact(row[name]).encode())
    made.update(struct.pack(f"<{len(row['value'])}f", *row["value"]))
    return made.hexdigest()[:20]


def read_records(files: Iterable[Path]) -> polars.DataFrame:
    """All records of some files, each cell once.

    Raises:
        InputError: A file is damaged or holds no records.
    """
    tables = []
    for file in files:
        try:
            table = read_parquet(file)
        except (polars.exceptions.PolarsError, OSError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"{file} is damaged: expected records of a comparison ({reason}); move the file "
                "away, and its cells are trained again"
            ) from error
        for name, kind in SCHEMA.items():
            found = table.schema.get(name)
            require(found == kind, f"{file}: column {name}", str(found), str(kind))
        tables.append(table.select(*SCHEMA))
    if not tables:
        return polars.DataFrame(schema=SCHEMA)
    return polars.concat(tables).unique("cell", keep="first", maintain_order=True)


def require_true(records: polars.DataFrame, where: str) -> None:
    """Raise `InputError` unless every record is what its digests say, by these rules and version.

    Args:
        records: To be checked.
        where: What errors call the place they come from.
    """
    expected_version = code_version()["lengthwise"]
    for row in records.iter_rows(named=True):
        place = f"{where}: {row['remedy']} on {row['task']}, seed {row['seed']}"
        require(row["rules"] == RULES, f"{place}: rules", row["rules"], str(RULES))
        version = row["lengthwise"]
        expected = f"{expected_version}, which is installed: train it again with that"
        require(
            version.partition("+")[0] == expected_version, f"{place}: lengthwise", version, expected
        )
        expected = "the digest of its numbers: the record was changed"
        require(row["digest"] == digest(row), f"{place}: digest", row["digest"], expected)
        own = cell_hash(row["recipe"], row["hyperparameters"])
        expected = "the digest of its recipe: the record was changed"
        require(row["cell"] == own, f"{place}: cell", row["cell"], expected)


@cache
def processor() -> str:
    """The kind of processor: on the same kind, the same code gives the same bits."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
