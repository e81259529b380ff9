"""What the soak found, each as small as it can be."""

import json
import os
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars
import pytest
from search.small import Inline, small_space

from lengthwise.cli import main
from lengthwise.comparing import StudyFolder
from lengthwise.comparing.run import run
from lengthwise.errors import InputError
from lengthwise.files import read_bytes
from lengthwise.folders import locked, log, make_new
from lengthwise.models import GPTModel, MinimalModel
from lengthwise.othello.shards import ShardedGames
from lengthwise.pool import _done
from lengthwise.probing.kept import take_folder
from lengthwise.registry import load_text
from lengthwise.report.markdown import _plain, _rows
from lengthwise.runs import RunFolder, execute, recipe_for, version
from lengthwise.search import SearchFolder, search
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters
from soak.small import Inline as StudyInline
from soak.small import small_study

HOOK = """
from lengthwise.remedies import Remedy, remedy

@remedy("raises")
class Raises(Remedy):
    def scores(self, scores, read):
        raise RuntimeError("two\\nlines")
"""
SMALL = {"max_train_length": 2, "steps": 2, "batch": 2, "test_inputs": 4}


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = [line for line in capsys.readouterr().err.splitlines() if "steps/s" not in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("lengthwise: ")
    return lines[0]


def small_run(path: Path) -> RunFolder:
    recipe = recipe_for(SetComplement(4), MinimalModel(), **SMALL)
    folder = RunFolder.create(path, recipe, [Hyperparameters()], ["lengthwise", "train"])
    execute(folder)
    return folder


def test_a_pipe_in_the_place_of_a_file_does_not_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert main(["train", str(tmp_path / "pipe.py")]) == 2
    assert "Not an ordinary file" in one_line(capsys)
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="Not an ordinary file"):
        read_bytes(tmp_path / "zero")
    folder = small_run(tmp_path / "run")
    (folder.path / "measures.parquet").unlink()
    (folder.path / "measures.parquet").symlink_to("/dev/zero")
    assert main(["show", str(folder.path)]) in (0, 2)


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    for name in ("lock", "log.txt"):
        (tmp_path / name).symlink_to("mine")
    with pytest.raises(InputError, match="cannot write"), locked(tmp_path, "run"):
        pass
    with pytest.raises(InputError, match="cannot write"):
        log(tmp_path, "event")
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_users_hook_that_raises_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("raises.py").write_text(HOOK)
    words = "train set-complement --vocab 4 --max-train-length 2 --steps 2 --batch 2 --seeds 1"
    assert main([*words.split(), "--remedies", "raises.py", "--out", "run"]) == 2
    assert "file = 'raises.py': line 7: RuntimeError: two lines" in one_line(capsys)
    assert not Path("run").exists()
    module = load_text("raises.py", HOOK).module

    def work(job: object, say: object, stop: object) -> object:
        return module.Raises.scores(None, None, None)

    kind, told = _done(work, 0, None, lambda: False)  # type: ignore[arg-type]
    assert (kind, capsys.readouterr().err) == ("failed", "")
    assert "file = 'raises.py': line 7" in str(told)


def test_a_chunk_with_another_type_is_one_line(tmp_path: Path) -> None:
    folder = search(small_space(), 2, tmp_path / "search", executor=Inline())
    for name in ("trial", "tvd_beyond"):
        file = folder.files()[0]
        content = file.read_bytes()
        table = polars.read_parquet(file).with_columns(polars.lit(b"x").alias(name))
        table.write_parquet(file)
        wrong = file.with_name(f"0000000-{zlib.crc32(file.read_bytes()):08x}.parquet")
        file.rename(wrong)
        with pytest.raises(InputError, match=r"column trial|expected tables of one") as said:
            SearchFolder.open(folder.path).table()
        assert len(str(said.value).splitlines()) == 1
        wrong.unlink()
        file.write_bytes(content)


def test_a_table_that_makes_its_reader_panic_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = small_run(tmp_path / "run")
    file = folder.path / "measures.parquet"
    whole = file.read_bytes()
    for start in range(4, len(whole) - 64, len(whole) // 25):
        file.write_bytes(whole[:start] + bytes(64) + whole[start + 64 :])
        assert main(["show", str(folder.path)]) in (0, 2)
        err = capfd.readouterr().err
        assert len(err.splitlines()) <= 1, err


@pytest.mark.parametrize("content", [b"GGUF" + bytes(60), b"GGUF" + b"\xff" * 60, b"", b"half"])
def test_a_damaged_gguf_file_is_one_line(tmp_path: Path, content: bytes) -> None:
    from lengthwise.probing.models import load

    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(InputError, match="cannot be loaded") as said:
        load(str(tmp_path / "model.gguf"))
    assert len(str(said.value).splitlines()) == 1


def test_a_page_that_is_not_utf8_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_bytes(b"\xff")
    results, page = str(tmp_path / "own" / "quick"), str(tmp_path / "page.md")
    assert main(["report", results, "--markdown", page]) == 2
    assert "it is not UTF-8" in one_line(capsys)
    assert (tmp_path / "page.md").read_bytes() == b"\xff"


def test_too_many_layers_are_refused() -> None:
    with pytest.raises(InputError, match="layers = 2147483648: expected at most 256"):
        GPTModel(layers=2**31).build(SetComplement(4), Hyperparameters())


def test_more_games_or_trials_than_there_can_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="games = 1000000000000000000: expected at most"):
        ShardedGames(games=10**18, seed=0)
    with pytest.raises(InputError, match="trials = 1000000000000000000: expected at most"):
        search(small_space(), 10**18, tmp_path / "search", executor=Inline())


def test_a_model_of_other_sizes_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from probing.models import plain_llama

    from lengthwise.probing.models import load

    plain_llama().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))
    capfd.readouterr()
    with pytest.raises(InputError, match="cannot be loaded"):
        load(str(tmp_path))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["steps", "batch", "test_inputs", "max_train_length"])
def test_steps_must_be_a_whole_number(name: str) -> None:
    recipe = recipe_for(SetComplement(4), MinimalModel(), **SMALL)
    with pytest.raises(InputError, match=f"{name} = 2.0: expected a whole number"):
        replace(recipe, **{name: 2.0})


@pytest.mark.filterwarnings("error")
def test_slopes_that_are_not_finite_are_drawn_without_a_warning() -> None:
    from lengthwise.probing.figures import heat_map
    from lengthwise.probing.summary import HEADS

    columns = {"measure": "std", "place": HEADS, "layer": 0, "head": 0, "slope": np.nan}
    frame = polars.DataFrame([columns])
    heat_map(SimpleNamespace(slopes=lambda: frame, label="x"), "std")  # type: ignore[arg-type]


def test_a_run_in_this_very_folder_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    folder = RunFolder.open(".")
    Path("measures.parquet").unlink()
    told = []
    execute(folder, told.append)
    assert {one.name for one in told} == {"mine"}


def test_what_a_kill_leaves_of_a_new_folder_is_as_good_as_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "chunks").mkdir(parents=True)
    (out / ".search.json.abcdefgh").touch()
    (out / "space.py").write_text("x = 1")
    make_new(out, "search", "chunks", {"space.py": "x = 1"})
    with pytest.raises(InputError, match="holds other files"):
        make_new(out, "search", "chunks", {"space.py": "x = 2"})
    with pytest.raises(InputError, match="holds other files"):
        make_new(out, "search", "records", {"space.py": "x = 1"})
    (out / "chunks" / "file").touch()
    with pytest.raises(InputError, match="holds other files"):
        make_new(out, "search", "chunks", {"space.py": "x = 1"})


def test_what_a_kill_leaves_of_a_new_run_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.json.abcdefgh").write_text("half")
    assert small_run(tmp_path / "run").finished
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".precious").touch()
    with pytest.raises(InputError, match="does not exist yet"):
        small_run(tmp_path / "other")


def test_another_version_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_folder(tmp_path / "probe", "probe", {"seed": 0})
    folder = StudyFolder.create_or_open(tmp_path / "study", small_study(("alibi",)), [])
    known = version.code_version()
    for module in ("lengthwise.probing.kept", "lengthwise.comparing.run"):
        code = lambda: known | {"lengthwise": "99.0"}  # noqa: E731
        monkeypatch.setattr(sys.modules[module], "code_version", code)
    with pytest.raises(InputError, match=r"holds a probe by lengthwise .* not 99\.0"):
        take_folder(tmp_path / "probe", "probe", {"seed": 0})
    with pytest.raises(InputError, match=r"lengthwise of .*study.* expected 99\.0"):
        run(folder, executor=StudyInline())
    assert folder.files() == []


def test_markdown_shows_tags_as_text() -> None:
    assert _plain("<script>x</script> 1 < 2") == "&lt;script>x&lt;/script> 1 < 2"
    assert "<img" not in _rows(("<img src=x>",), [("<img src=x>",)])


def test_every_finding_has_a_test_that_is_there() -> None:
    found = json.loads((Path(__file__).parents[2] / "soak" / "found.json").read_text())
    for one in found:
        path, _, name = one["test"].partition("::")
        assert f"def {name}(" in (Path(__file__).parents[2] / path).read_text()
