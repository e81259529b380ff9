"""The code in the documents of the papers runs, and what they name exists."""

import re
from pathlib import Path

import pytest

from lengthwise.papers import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "vanishing-variance.md"


def test_the_remedy_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(compile(code, str(PAGE), "exec"), {})


@pytest.mark.parametrize(
    "page", [PAGE, *DOCS.glob("results/*/README.md")], ids=lambda page: page.parent.name
)
def test_links_and_claims_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), link
    for claim in re.findall(r"lengthwise reproduce ([a-z-]+/[a-z0-9-]+)", text):
        assert claim in CLAIMS
