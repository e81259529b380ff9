"""The order of the parts in docs/design.md is kept, and what needs no torch loads none."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lengthwise

SOURCE = Path(lengthwise.__file__).parent
LAYERS = (
    {
        "_version",
        "errors",
        "files",
        "folders",
        "progress",
        "compiled",
        "memory",
        "operations",
        "trust",
        "tracking",
    },
    {"randomness", "registry", "families", "hyperparameters", "pool"},
    {"othello"},
    {"tasks"},
    {"remedies"},
    {"models"},
    {"averaging"},
    {"training"},
    {"measures"},
    {"runs"},
    {"executors"},
    {"search", "theory", "probing"},
    {"claims"},
    {"report"},
    {"papers", "checking", "comparing"},
    {"testing"},
    {"cli"},
)
"""A part imports those of its own set or of earlier ones."""

EXCEPTED = {"lengthwise.report.style", "lengthwise.report.numbers"}
"""They know nothing of the rest: whatever draws or prints may use them."""

OUTSIDE = {"__init__", "__main__"}
"""The front door may import anything."""


def layer_of(part: str) -> int:
    for number, parts in enumerate(LAYERS):
        if part in parts:
            return number
    raise AssertionError(f"{part!r} has no place in the order of docs/design.md")


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, at its top or inside of functions."""
    module = ("lengthwise", *path.relative_to(SOURCE).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: -node.level]) if node.level else ""
            whole = ".".join(filter(None, (base, node.module)))
            yield whole
            yield from (f"{whole}.{name.name}" for name in node.names)


def backward() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part in OUTSIDE:
            continue
        for module in imported(path):
            names = module.split(".")
            if names[0] != "lengthwise" or len(names) < 2 or ".".join(names[:3]) in EXCEPTED:
                continue
            known = (SOURCE / names[1]).is_dir() or (SOURCE / f"{names[1]}.py").is_file()
            if known and names[1] != part and layer_of(names[1]) >= layer_of(part):
                if names[1] == "report" and module == "lengthwise.report":
                    continue  # `from lengthwise.report import style`: the names are looked at
                if layer_of(names[1]) == layer_of(part):
                    continue
                yield f"{path.relative_to(SOURCE)} imports {module}"


def test_no_arrow_points_back() -> None:
    assert list(backward()) == []


def test_every_part_has_a_place() -> None:
    found = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name[0] != "."}
    for part in found - OUTSIDE - {"__pycache__", "py.typed"}:
        layer_of(part)


LIGHT = """
import sys
import lengthwise
import lengthwise.registry, lengthwise.hyperparameters
from lengthwise.registry import MODELS, REMEDIES, TASKS
assert "gpt" in MODELS.names() and "rotary" in REMEDIES.names() and "othello" in TASKS.names()
print([name for name in ("torch", "numpy", "polars", "numba", "matplotlib") if name in sys.modules])
"""


def test_names_and_hyperparameters_need_no_torch() -> None:
    result = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("wrong", ["from lengthwise.cli import main", "import lengthwise.papers"])
def test_an_arrow_that_points_back_is_found(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("tasks", "cli", "papers"):
        (tmp_path / part).mkdir()
    (tmp_path / "tasks" / "mine.py").write_text(f"def draw():\n    {wrong}\n")
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert [line.split()[0] for line in backward()][:1] == ["tasks/mine.py"]
