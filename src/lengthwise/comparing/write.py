"""The page of a study and the tables beside it, made of its records."""

import shlex
from typing import Any

import polars

from lengthwise.comparing.baselines import levels
from lengthwise.comparing.export import write_tables
from lengthwise.comparing.folder import StudyFolder
from lengthwise.comparing.page import page
from lengthwise.comparing.payload import payload
from lengthwise.comparing.picture import matrix_figure
from lengthwise.comparing.readings import Reading, read
from lengthwise.errors import require
from lengthwise.files import write_text
from lengthwise.report.style import save


def write_page(folder: StudyFolder) -> dict[str, Any]:
    """Write `page.html` and its tables into the study's folder; what they show, as plain values.

    Raises:
        InputError: No record is there yet, or a file is damaged or cannot be written.
    """
    records = folder.records()
    expected = "a study of which something is done: nothing is recorded yet"
    require(len(records) > 0, "page", str(folder.path), expected)
    reading = read(folder.study, records)
    values = payload(reading, levels(folder), _made(folder, records, reading))
    write_tables(values, folder.path)
    write_text(folder.path / "page.html", page(values))
    save(matrix_figure(values), folder.path / "matrix.svg")
    return values


def _made(folder: StudyFolder, records: polars.DataFrame, reading: Reading) -> dict[str, Any]:
    """Where the numbers come from, and what is not there yet."""
    study = folder.study
    versions = records.group_by("lengthwise", "torch", "commit").len().sort("len", descending=True)
    missing = []
    for plan, table in zip(study.plans, reading.tables, strict=True):
        for entry, done in zip(study.entries, table.done, strict=True):
            seeds = int(done.all(-1).sum())
            if seeds < study.seeds:
                missing.append(f"{entry.name} on {plan.name}: {seeds} of {study.seeds} seeds")
    cells = study.planned()
    return {
        "command": shlex.join(folder.description["command"]),
        "versions": [
            f"lengthwise {row['lengthwise']}, torch {row['torch']}, commit {row['commit'][:12]}: "
            f"{row['len']} models"
            for row in versions.iter_rows(named=True)
        ],
        "done": len(cells & set(records["cell"])),
        "planned": len(cells),
        "hours": round(float(records["seconds"].sum()) / 3600, 2),
        "missing": missing,
    }
