"""Every snippet of docs/check.md runs, in order, and its tables name what there is."""

import re
from pathlib import Path

from lengthwise.checking.breaks import RULES
from lengthwise.checking.what_ifs import all_what_ifs

PAGE = (Path(__file__).parents[2] / "docs/check.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_snippets_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(SNIPPETS) == 2
    names: dict[str, object] = {}
    for number, snippet in enumerate(SNIPPETS, start=1):
        exec(compile(snippet, f"docs/check.md, snippet {number}", "exec"), names)
    assert (tmp_path / "check/index.html").exists()
    assert "model-index:" in capsys.readouterr().out


def test_the_tables_name_every_what_if_and_rule():
    listed = set(re.findall(r"^\| `([a-z-]+?)(?:-F)?` \|", PAGE, flags=re.MULTILINE))
    assert listed == {re.sub(r"-\d+$", "", name) for name in all_what_ifs()}
    assert all(re.search(rf"^\| {rule} \|", PAGE, flags=re.MULTILINE) for rule in RULES)
