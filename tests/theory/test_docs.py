"""Every snippet of docs/theory.md runs, in order, and its pictures can be drawn again."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "theory.md").read_text(encoding="utf-8")


def test_the_snippets_run() -> None:
    snippets = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(snippets) == PAGE.count("```python") >= 6
    names: dict[str, object] = {}
    for number, snippet in enumerate(snippets, start=1):
        exec(compile(snippet, f"docs/theory.md, snippet {number}", "exec"), names)


def test_the_pictures_can_be_drawn_again(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "pictures", "__file__": str(DOCS / "pictures.py")}
    exec(compile((DOCS / "make_theory_pictures.py").read_text(), "pictures", "exec"), names)
    names["draw_constructions"](tmp_path)
    for name in ("theory-constructions.png", "theory-variance.png"):
        assert (tmp_path / name).stat().st_size > 10_000
