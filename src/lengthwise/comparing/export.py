"""The numbers of a comparison for other tools: CSV, Parquet, Markdown and LaTeX."""

from pathlib import Path
from typing import Any

import polars

from lengthwise.files import write_text, write_with

LATEX = {"\\": r"\textbackslash{}", "_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$",
         "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}"}  # fmt: skip

MARKS = {"helps": "+", "harms": "-"}
"""How tables mark what is sure."""


def write_tables(values: dict[str, Any], folder: Path) -> None:
    """Write `reach.csv`, `cells.csv`, `cells.parquet`, `table.md` and `table.tex`.

    Args:
        values: What `payload` made.
        folder: Where to.
    """
    write_with(folder / "reach.csv", reach_table(values).write_csv)
    cells = cell_table(values)
    write_with(folder / "cells.csv", cells.write_csv)
    write_with(folder / "cells.parquet", cells.write_parquet)
    write_text(folder / "table.md", markdown(values))
    write_text(folder / "table.tex", latex(values))


def reach_table(values: dict[str, Any]) -> polars.DataFrame:
    """One row per remedy: reach with its interval, ratio to the baseline, cost."""
    rows = []
    for one in values["remedies"]:
        rows.append(
            {
                "remedy": one["name"],
                **_estimate("reach", one["reach"]),
                **_estimate("reach_fixed", one["reach_fixed"]),
                **_estimate("ratio", one["ratio"]),
                "p_holm": (one["ratio"] or {}).get("p"),
                "rank_first": one["rank"][0] if one["rank"] else None,
                "rank_last": one["rank"][1] if one["rank"] else None,
                "learned": one["learned"][0],
                "models": one["learned"][1],
                "cost": (one["cost"] or {}).get("mean"),
                "parameters": one["parameters"],
                "more_parameters": one["more_parameters"],
                "helps": " ".join(one["helps"]),
                "harms": " ".join(one["harms"]),
            }
        )
    return polars.DataFrame(rows, infer_schema_length=None)


def cell_table(values: dict[str, Any]) -> polars.DataFrame:
    """One row per remedy, task, measure and length, with chance and length-only beside."""
    tasks = {task["name"]: task for task in values["tasks"]}
    rows = []
    for cell in values["cells"]:
        task = tasks[cell["task"]]
        for measure, band in cell["scores"].items():
            for place, length in enumerate(task["lengths"]):
                difference = (cell["differences"] or {}).get(measure, {})
                levels = {
                    name: (task[name].get(measure) or [None] * len(task["lengths"]))[place]
                    for name in ("chance", "length_only")
                }
                rows.append(
                    {
                        "remedy": cell["remedy"], "task": cell["task"], "verdict": cell["verdict"],
                        "learned": cell["learned"][0], "seeds": cell["learned"][1],
                        "measure": measure, "length": length,
                        **{name: band[name][place] for name in ("mean", "low", "high")},
                        **{
                            f"difference_{name}": difference[name][place] if difference else None
                            for name in ("mean", "low", "high")
                        },
                        **levels,
                    }
                )  # fmt: skip
    return polars.DataFrame(rows, infer_schema_length=None)


def markdown(values: dict[str, Any]) -> str:
    """The table of reach by task, as Markdown."""
    head, *rows = _rows(values)
    cells = [[_escaped(cell) for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    lines.insert(1, "|---" + "|---:" * (len(head) - 1) + "|")
    return "\n".join(lines) + "\n"


def latex(values: dict[str, Any]) -> str:
    """The same as LaTeX, for booktabs."""
    head, *rows = ([_in_latex(cell) for cell in row] for row in _rows(values))
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", r"\toprule",
        " & ".join(head) + r" \\", r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _rows(values: dict[str, Any]) -> list[list[str]]:
    """Remedies by their reach; `+` and `-` mark where one helps or harms for sure."""
    tasks = [task["name"] for task in values["tasks"]]
    cells = {(cell["remedy"], cell["task"]): cell for cell in values["cells"]}
    order = sorted(values["remedies"], key=lambda one: -((one["reach"] or {}).get("mean") or 0))
    rows = [["remedy", "reach", "95 %", "over baseline", "learned", "cost", *tasks]]
    for one in order:
        reach, ratio = one["reach"] or {}, one["ratio"] or {}
        rows.append(
            [
                one["name"] + (" (baseline)" if one["baseline"] else ""),
                _short(reach.get("mean")),
                _interval(reach),
                "" if one["baseline"] else _short(ratio.get("mean")),
                f"{one['learned'][0]}/{one['learned'][1]}",
                _short((one["cost"] or {}).get("mean")),
                *(_cell_text(cells[one["name"], task]) for task in tasks),
            ]
        )
    return rows


def _cell_text(cell: dict[str, Any]) -> str:
    if cell["verdict"] in ("not done", "not learned"):
        return cell["verdict"]
    return _short((cell["reach"] or {}).get("mean")) + MARKS.get(cell["verdict"], "")


def _estimate(name: str, one: dict[str, Any] | None) -> dict[str, float | None]:
    found = one or {}
    return {
        name: found.get("mean"), f"{name}_low": found.get("low"), f"{name}_high": found.get("high")
    }  # fmt: skip


def _interval(one: dict[str, Any]) -> str:
    if one.get("low") is None or one.get("high") is None:
        return "?"
    return f"{one['low']:.2f} to {one['high']:.2f}"


def _short(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", r"\|").replace("<", "&lt;")


def _in_latex(cell: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in cell)
