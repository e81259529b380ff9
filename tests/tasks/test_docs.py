"""docs/tasks.md has every task, with the example that the command shows and its baselines."""

import importlib.util
import re
from pathlib import Path

import pytest

from lengthwise.cli import main
from lengthwise.families import FAMILIES, by_family
from lengthwise.registry import TASKS

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "tasks.md").read_text(encoding="utf-8")

specification = importlib.util.spec_from_file_location("page", DOCS / "make_tasks_page.py")
assert specification is not None
assert specification.loader is not None
page = importlib.util.module_from_spec(specification)
specification.loader.exec_module(page)


def test_every_task_has_an_entry_in_its_family() -> None:
    parts = re.split(r"^## (.*)$", TEXT, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    for family, own in by_family().items():
        text = found[family[0].upper() + family[1:]]
        assert re.findall(r"^### `(.*)`$", text, re.MULTILINE) == [one.name for one in own]
        assert FAMILIES[family][0].capitalize() in text
        for one in own:
            assert text.count(f"| `{one.name}` |") == 2, "in and beyond training"


@pytest.mark.parametrize("name", TASKS.listed())
def test_the_entry_is_as_it_would_be_written_now(name: str) -> None:
    assert page.entry(TASKS.listed()[name]) in TEXT, "run docs/make_tasks_page.py"


@pytest.mark.parametrize("name", ["dyck-k", "addition", "same-well", "needle"])
def test_the_command_shows_that_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", name, "--examples", "1"]) == 0
    shown = capsys.readouterr().out
    (example,) = re.findall(f"### `{name}`.*?```\n(.*?)```", TEXT, re.DOTALL)
    assert "".join(f"  {line}\n" for line in example.splitlines()) in shown


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", text)]


@pytest.mark.parametrize("name", ["set-complement", "parity-check", "tomita-1", "argmax-retrieval"])
def test_the_table_has_its_baselines(name: str) -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
    now = page.table([TASKS.listed()[name]]).splitlines()[2:]
    for written, expected in zip(rows, now, strict=True):
        cells = [cell for cell in written.split("|")[2:-1] if cell.strip()]
        others = [cell for cell in expected.split("|")[2:-1] if cell.strip()]
        for cell, other in zip(cells, others, strict=True):
            assert numbers(cell) == pytest.approx(numbers(other), abs=2e-3)
