"""The command: its page, files, card, comparison and imports, and its errors in one line."""

import json
import re
import subprocess
import sys
import time

import polars
import pytest
import torch
import yaml
from checking.models import text_of, tiny_llama
from transformers import PreTrainedTokenizerFast

from lengthwise.checking import check, run
from lengthwise.checking.harness import read_results
from lengthwise.cli import main
from lengthwise.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a tokenizer of words, as save_pretrained writes them, and a text."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    where = tmp_path_factory.mktemp("model")
    words = {f"w{number}": number for number in range(59)} | {"[UNK]": 59}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(where)
    tiny_llama().save_pretrained(where)
    text = " ".join(f"w{number}" for number in text_of(3000, 59).tolist())
    (where / "text.txt").write_text(text)
    return where


@pytest.fixture
def arguments(folder):
    return [
        "check", str(folder), "--text", str(folder / "text.txt"), "--lengths", "32:256",
        "--documents", "4", "--sequences", "2", "--remedies", "yarn-2", "window",
    ]  # fmt: skip


def test_a_page_with_everything_on_it(arguments, tmp_path, capsys):
    results = tmp_path / "results.json"
    metrics = {"alias": "niah_single_1", "4096,none": 0.98, "8192,none": -1, "acc,none": 0.5}
    results.write_text(json.dumps({"results": {"niah_single_1": metrics}}))
    out = tmp_path / "out"
    assert main([*arguments, "--out", str(out), "--card", "--import", str(results)]) == 0
    printed = capsys.readouterr().out
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "behaviour.csv", "behaviour.parquet", "mechanism.parquet", "moved.csv",
            "verdict.txt", "breaks.json", "by-length.svg", "needles.svg", "positions.svg",
            "distances.svg", "what-ifs.svg"} <= names  # fmt: skip
    page = (out / "index.html").read_text()
    for line in (out / "verdict.txt").read_text().splitlines():
        assert line in printed
    assert "niah_single_1" in page
    assert "0.980" in page
    assert "yarn-2" in page
    assert "Break length by rule" in page
    outside = re.findall(r"""(?:src|href)=["'](?!#)([^"']+)""", page)
    assert not [link for link in outside if link.startswith("http")]
    card = yaml.safe_load(printed[printed.index("model-index:") :])
    assert card["model-index"][0]["results"][0]["metrics"][0]["type"] == "break_length_loss"
    assert main([*arguments, "--out", str(out)]) == 0  # all is kept: drawn again


def test_several_models_side_by_side(arguments, folder, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    told = [*arguments[:-3], "--remedies", "none", "--compare", str(other)]
    assert main([*told, "--out", str(tmp_path / "both")]) == 0
    page = (tmp_path / "both/comparison.html").read_text()
    assert folder.name in page
    assert "other" in page
    assert (tmp_path / "both/other/index.html").exists()
    assert "side by side" in capsys.readouterr().out


def test_models_of_the_same_name_are_not_compared(arguments, folder, tmp_path, capsys):
    told = [*arguments, "--compare", str(tmp_path / "elsewhere" / folder.name)]
    assert main([*told, "--out", str(tmp_path / "both")]) == 2
    assert f"compare = '{folder.name}': expected models with names" in capsys.readouterr().err
    assert not (tmp_path / "both").exists()


def test_ctrl_c_says_how_to_go_on(arguments, tmp_path, capsys, monkeypatch):
    own = run.measure

    def stopped(model, inputs, length, *more):
        if length == 128:
            raise KeyboardInterrupt
        return own(model, inputs, length, *more)

    monkeypatch.setattr(run, "measure", stopped)
    out = tmp_path / "out"
    assert main([*arguments, "--out", str(out)]) == 130
    assert f"the lengths done are kept in {out}; go on with: " in capsys.readouterr().out
    kept = {path.stem for path in (out / "lengths/plain").glob("*.safetensors")}
    assert {"0000032", "0000064"} <= kept
    assert "0000128" not in kept


@pytest.mark.parametrize(("changes", "message"), [
    (["--budget", "soon"], "budget = 'soon': expected a time such as"),
    (["--lengths", "256:32"], "lengths = '256:32'"),
    (["--remedies-at", "32:x"], "remedies-at = '32:x': expected from:to by doubling"),
    (["--remedies-at", "100"], "remedies_at = 100: expected one of the lengths"),
    (["--import", "no.json"], "import = 'no.json': cannot be read"),
    (["--text", "no.txt"], "text = 'no.txt': cannot be read"),
    (["--lengths", "32:4096"], "text = '3000 tokens'"),
])  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(arguments, changes, message, tmp_path, capsys):
    assert main([*arguments, *changes, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert message in said[-1]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"results": {}}', '{"results": {"a": {"acc": 1}}}']
)
def test_results_that_are_not_by_length(content, tmp_path):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(InputError, match="lm-evaluation-harness with metrics by length"):
        read_results(tmp_path / "r.json")


def test_the_numbers_of_a_table_are_those_of_the_passes(tmp_path):
    found = check(
        tiny_llama(), text=text_of(2000), lengths=[32, 128], documents=4, sequences=2, remedies=()
    )
    loss = found.frame.filter(measure="loss", length=128).row(0, named=True)
    assert loss["value"] == pytest.approx(float(found.behaviours[128].loss.mean()))
    assert loss["low"] < loss["value"] < loss["high"]
    assert loss["over"] == 4
    places = found.frame.filter(measure="loss_by_position", length=128)
    behaviour = found.behaviours[128]
    parts = torch.tensor_split(behaviour.position_loss, 8, dim=1)
    assert places["value"].to_list() == pytest.approx([float(part.mean()) for part in parts])
    found.save(tmp_path)
    assert polars.read_csv(tmp_path / "behaviour.csv").height == found.frame.height


@pytest.mark.slow
def test_a_killed_command_loses_no_length(arguments, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "lengthwise", *arguments, "--out", str(out)]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first = out / "lengths/plain/0000032.safetensors"
    while not first.exists():
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.rglob("*.safetensors")}
    assert subprocess.run(command, check=False).returncode == 0
    assert (out / "index.html").exists()
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
