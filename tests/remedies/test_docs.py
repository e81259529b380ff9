"""docs/remedies.md shows every remedy as it is: text, picture, code that runs, laws with tests."""

import re
from pathlib import Path

import pytest

from lengthwise.registry import REMEDIES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "remedies.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def script() -> dict[str, object]:
    path = DOCS / "make_remedies_page.py"
    names: dict[str, object] = {"__name__": "page", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), names)
    return names


def test_every_remedy_is_there_and_no_other() -> None:
    assert set(SECTIONS) == set(REMEDIES.listed())


def test_the_page_is_what_the_code_says(script: dict[str, object]) -> None:
    again = "python docs/make_remedies_page.py writes it anew"
    assert script["written"](PAGE) == PAGE, again  # type: ignore[operator]


@pytest.mark.parametrize("name", REMEDIES.listed())
def test_a_remedy_has_its_paragraph_picture_code_and_source(
    name: str, script: dict[str, object]
) -> None:
    section = SECTIONS[name]
    picture = f"images/remedies/{name}.svg"
    assert f"({picture})" in section
    assert "<svg" in (DOCS / picture).read_text(encoding="utf-8")
    assert (DOCS / picture).stat().st_size < 60_000
    for number in re.findall(r"arxiv.org/abs/([\d.]+)", section):
        assert number in script["TITLES"]  # type: ignore[operator]
    assert "**Cost** " in section
    (snippet,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    assert 5 <= len(snippet.splitlines()) <= 6
    assert f'"{name}"' in snippet
    exec(compile(snippet, f"docs/remedies.md, {name}", "exec"), {})


def test_what_stands_before_the_list_runs() -> None:
    first = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[0]
    exec(compile(first, "docs/remedies.md", "exec"), {})


def test_every_law_has_its_test() -> None:
    laws = re.findall(r"\[`(test_\w+)`\]\(\.\./tests/remedies/(\w+\.py)\)", PAGE)
    assert len(laws) >= 12
    for test, file in laws:
        assert f"def {test}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")
