"""`lengthwise probe` as a user calls it."""

import os

import polars
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("transformers")

from probing.models import llama

from lengthwise.cli import main
from lengthwise.cli.probe import parse_layers, parse_lengths, parse_queries


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "little-llama"
    llama().save_pretrained(path)
    return str(path)


def test_probes_and_goes_on_where_it_was_stopped(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["probe", folder, "--sequences", "8", "--queries", "all", "--layers", "0:2"]
    assert main([*command, "--lengths", "8:32"]) == 0
    printed = capsys.readouterr().out
    assert "logits with and without the probe differ by 0" in printed
    assert "little-llama, random tokens, fixed query, all queries: 8 sequences" in printed
    (out,) = (tmp_path / "runs/probe").iterdir()
    assert out.name.startswith("little-llama-")
    expected = {"probe.json", "lengths", "table.parquet", "table.csv", "slopes.csv", "verdict.txt"}
    pictures = {"std.png", "effective_tokens.png", "slopes.png"}
    assert {path.name for path in out.iterdir()} == expected | pictures
    times = {path.name: path.stat().st_mtime_ns for path in (out / "lengths").iterdir()}
    assert main([*command, "--lengths", "8:64"]) == 0  # one more length, into the same folder
    assert {name: (out / "lengths" / name).stat().st_mtime_ns for name in times} == times
    assert polars.read_parquet(out / "table.parquet")["length"].unique().sort().to_list() == [
        8, 16, 32, 64,
    ]  # fmt: skip


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(folder, tmp_path, capsys, monkeypatch):
    from lengthwise.probing import run

    observe = run._observe

    def interrupted(model, ids, settings):
        if ids.shape[1] == 16:
            raise KeyboardInterrupt
        return observe(model, ids, settings)

    monkeypatch.setattr(run, "_observe", interrupted)
    command = ["probe", folder, "--sequences", "4", "--lengths", "8:16", "--out", str(tmp_path)]
    assert main(command) == 130
    assert "the lengths done are kept in" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "lengths").iterdir()] == ["0000008.safetensors"]
    monkeypatch.setattr(run, "_observe", observe)
    assert main(command) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lengths", "64:16"], "lengths = '64:16': expected from:to by doubling"),
        (["--lengths", "64,32"], "lengths = '64,32': expected"),
        (["--lengths", "many"], "lengths = 'many': expected"),
        (["--lengths", "8:512"], "lengths = 512: expected at most 256, the number of positions"),
        (["--layers", "3:1"], "layers = '3:1': expected all, a range"),
        (["--layers", "9"], "layers = [9]: expected layers between 0 and 2"),
        (["--queries", "some"], "queries = 'some': expected last, all"),
        (["--input", "text"], "text = None: expected a file of text"),
        (["--input", "text", "--text", "x"], "text = 'x': expected a tokenizer"),
        (["--positions", "of"], "off"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, tmp_path, options, message, capsys):
    out = tmp_path / "out"
    defaults = ["--lengths", "8:16", "--sequences", "4", "--out", str(out)]
    assert main(["probe", folder, *defaults, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_model_that_is_not_there(capsys):
    assert main(["probe", "someone/some-model"]) == 2
    error = capsys.readouterr().err
    assert "the hub cannot be reached" in error
    assert error.count("\n") == 1


def test_numbers_on_the_command_line():
    assert parse_lengths("16:100") == [16, 32, 64]
    assert parse_lengths("5,7") == [5, 7]
    assert parse_layers("all") is None
    assert parse_layers("1:3") == [1, 2]
    assert parse_layers("0,5") == [0, 5]
    assert [parse_queries(text) for text in ("last", "all", "7")] == ["last", "all", 7]
