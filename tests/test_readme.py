"""What the README shows, runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippet(snippet: str) -> None:
    exec(compile(snippet, "README.md", "exec"), {})


def test_the_two_commands_come_first() -> None:
    first_block = (ROOT / "README.md").read_text().split("```")[1]
    assert "make demo" in first_block
    assert "make test" in first_block


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), target
