"""What lies beside a page: its figures, its tables, and all numbers behind the verdicts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import polars

from lengthwise.claims import Picture, Reproduction, Table
from lengthwise.files import write_text, write_with
from lengthwise.report.findings import findings_table

Named = TypeVar("Named", Picture, Table)


def write_files(done: Reproduction, folder: Path, prefix: str = "") -> None:
    """Write a figure per picture (SVG), a CSV per table, and `findings.csv`."""
    for name, picture in named(done.pictures):
        write_text(folder / f"{prefix}{name}.svg", picture.svg)
    for name, table in named(done.tables):
        frame = polars.DataFrame(table.rows, schema=list(table.columns), orient="row")
        write_with(folder / f"{prefix}{name}.csv", frame.write_csv)
    write_with(folder / f"{prefix}findings.csv", findings_table(done.verdicts).write_csv)


def named(parts: Iterable[Named]) -> Iterator[tuple[str, Named]]:
    """By name; where papers have the same, such as figure-1, all but the first get a number."""
    seen = Counter[str]()
    for part in parts:
        seen[part.name] += 1
        yield part.name if seen[part.name] == 1 else f"{part.name}-{seen[part.name]}", part
