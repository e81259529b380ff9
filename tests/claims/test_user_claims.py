"""A claim of one's own on a task and a remedy of one's own: trained by workers, page and all."""

import json
from pathlib import Path

import pytest

from lengthwise.claims import claims_of_file, reopen
from lengthwise.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"

CLAIM = '''
from lengthwise.claims import Claim, Drawing, Experiment, Finding, PlannedRun, Section
from lengthwise.claims.readings import alive, by_seed, paired_ratio
from lengthwise.models import GPTModel
from lengthwise.report.lengths import Curve, figure_by_length
from lengthwise.runs import recipe_for
from lengthwise.training import Hyperparameters


def plan(scale):
    models = tuple(Hyperparameters(seed=seed) for seed in range(2))
    sizes = {"layers": 1, "heads": 1, "width": 8}
    settings = {"max_train_length": 4, "steps": 6, "batch": 4, "test_inputs": 10}
    return {
        label: PlannedRun(
            recipe_for(TASK, GPTModel(**sizes, remedies=("learned", *remedies)),
                       test_lengths=(2, 8), **settings),
            models,
        )
        for label, remedies in (("plain", ()), ("remedy", (REMEDY,)))
    }


def tvd(results, run):
    return alive(results.tables[run], "tvd").select("seed", "length", "value")


def evidence(results):
    plain, remedy = (by_seed(tvd(results, run)) for run in ("plain", "remedy"))
    return [Finding("TVD, plain / remedy", paired_ratio(plain, remedy), 1.05)]


def draw(results):
    curves = {"remedy": Curve(tvd(results, "remedy"), "black")}
    return figure_by_length(curves, 4, [2, 8], "TVD", "Mine")


PARITY = Experiment("own-parity", plan, lambda results: Section("Mine", "Words.", (), ()))
MINE = Claim(
    "mine/off-by-one", "It helps on parity.", "ours", PARITY, evidence,
    drawings=(Drawing("mine", draw, "Caption.", "Alt"),),
)
'''  # fmt: skip


@pytest.fixture
def parts() -> str:
    """A task and a remedy in one file."""
    return "\n".join((EXAMPLES / f"my_{part}.py").read_text() for part in ("task", "remedy"))


def run(path: Path) -> int:
    return main(["reproduce", str(path), "--out", str(path.parent / "out")])


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("measures.parquet")}


def test_parts_of_the_same_file_go_where_its_claim_goes(
    parts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "my_claim.py", tmp_path / "out"
    path.write_text(f"{parts}\nTASK, REMEDY = 'my-parity', 'my-off-by-one'\n{CLAIM}")
    assert run(path) == 0
    assert "mine/off-by-one: TVD, plain / remedy" in capsys.readouterr().out
    page = (out / "my_claim-quick.html").read_text()
    assert "It helps on parity." in page
    assert page.count("<figure") == 1
    assert (out / "my_claim-quick-mine.svg").read_text().startswith("<svg")
    place = out / "own-parity" / "quick"
    described = json.loads((place / "remedy" / "run.json").read_text())["recipe"]
    (key,) = described["files"]
    assert (described["task"]["name"], described["model"]["remedies"][1]) == (key, key)

    before = times(out)
    assert len(before) == 2
    assert run(path) == 0
    assert times(out) == before, "nothing is trained again"
    again = reopen(list(claims_of_file(path).values()), "quick", out)
    assert "(2)" in page
    assert again.verdicts[0].headline.estimate.count == 2

    capsys.readouterr()
    path.write_text(path.read_text() + "\n# The parts may be others now, for all one knows.\n")
    assert run(path) == 2
    assert "holds a run with other settings" in capsys.readouterr().err
    assert times(out) == before


def test_parts_of_other_files_outlast_changes_to_the_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("task", "remedy"):
        (tmp_path / f"own_{part}.py").write_text((EXAMPLES / f"my_{part}.py").read_text())
    path, out = tmp_path / "my_claim.py", tmp_path / "out"
    named = "".join(
        f"{p.upper()} = {str(tmp_path / f'own_{p}.py')!r}\n" for p in ("task", "remedy")
    )
    path.write_text(named + CLAIM)
    assert run(path) == 0
    before = times(out)
    path.write_text(named + CLAIM.replace("1.05", "1.5"))
    assert run(path) == 0
    assert times(out) == before, "the claim is judged anew, nothing is trained"
    assert "<td class=number>1.50</td>" in (out / "my_claim-quick.html").read_text()

    capsys.readouterr()
    (tmp_path / "own_remedy.py").write_text(
        "# other text\n" + (EXAMPLES / "my_remedy.py").read_text()
    )
    assert run(path) == 2
    assert "holds a run with other settings" in capsys.readouterr().err


def test_a_search_of_a_file_is_planned_inside_it(parts: str, tmp_path: Path) -> None:
    path = tmp_path / "my_claim.py"
    searched = """
from lengthwise.claims import PlannedSearch
from lengthwise.search import Choice, Space

def find(scale):
    recipe = recipe_for("my-parity", GPTModel(layers=1, heads=1, width=8))
    remedies = {"model.remedies": Choice(("learned",), ("learned", "my-off-by-one"))}
    return PlannedSearch(Space(recipe, remedies), 2)

SEARCHED = Experiment("own-search", lambda scale: {}, PARITY.section, search=find)
OTHER = Claim("mine/search", "Also.", "ours", SEARCHED, evidence)
"""
    path.write_text(f"{parts}\nTASK, REMEDY = 'my-parity', 'my-off-by-one'\n{CLAIM}{searched}")
    search = claims_of_file(path)["mine/search"].experiment.search
    assert search is not None
    (_, (_, key)) = search("quick").space.ends("model.remedies")
    assert key.startswith("my_claim.py@")
