"""`lengthwise othello` as a user calls it."""

import resource
import signal
import subprocess
import sys
import time

import numpy
import pytest

from lengthwise.cli import main
from lengthwise.othello import from_transcript, random_games, stored_games, to_transcript


def command(*arguments):
    return [sys.executable, "-m", "lengthwise", "othello", *map(str, arguments)]


def test_generate_in_one_line(tmp_path, capsys):
    out = tmp_path / "games"
    for _ in range(2):  # the second time everything is there
        assert main(["othello", "generate", "--games", "2_000", "--out", str(out)]) == 0
        assert capsys.readouterr().out == f"{out}: 2000 games in 1 shard\n"
    (games,) = stored_games(out)
    assert numpy.array_equal(games.moves, random_games(2000, 0).moves)


def test_every_option_counts(tmp_path, capsys):
    options = ["--board", "6", "--seed", "5", "--start", "7", "--split", "train"]
    options += ["--format", "parquet", "--legal", "--shard-games", "60"]
    out = tmp_path / "games"
    assert main(["othello", "generate", "--games", "100", "--out", str(out), *options]) == 0
    expected = random_games(100, 5, 6, start=7, split="train")
    read = numpy.concatenate([games.moves for games in stored_games(out)])
    assert numpy.array_equal(read, expected.moves)
    assert sorted(path.name for path in out.iterdir()) == [
        "games-00000.parquet",
        "games-00001.parquet",
        "games.json",
    ]


def test_a_killed_command_goes_on(tmp_path):
    # So many that they cannot be done before the command is stopped.
    options = ["--games", 2_000_000, "--shard-games", 2_000, "--out", tmp_path / "out"]
    child = subprocess.Popen(command("generate", *options), stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "moves-00000.npy").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert "the same command goes on" in child.communicate()[0]
    assert child.returncode == 130
    assert not (tmp_path / "out" / "moves-00999.npy").exists()
    assert subprocess.run(command("generate", *options)).returncode == 0
    assert sum(map(len, stored_games(tmp_path / "out"))) == 2_000_000


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path):
    """A limit on the size of files stands in for the disk; the last shard does not fit."""
    out = tmp_path / "games"
    options = ["--games", 50_000, "--shard-games", 50_000, "--out", out]
    limit = 1_000_000
    result = subprocess.run(
        command("generate", *options), capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.startswith(f"lengthwise: cannot write {out / 'moves-00000.npy'}: ")
    assert result.stderr.count("\n") == 1
    assert [path.name for path in out.iterdir()] == ["games.json"]
    assert subprocess.run(command("generate", *options)).returncode == 0


def test_show_draws_the_board(capsys):
    assert main(["othello", "show", "f5d6c3"]) == 0
    out = capsys.readouterr().out
    assert " 5 . . . O X X * .\n" in out
    assert "X black 5, O white 2" in out
    assert "after move 3: white to move, * 4 legal" in out


def test_show_knows_the_end(capsys):
    transcript = to_transcript(random_games(1, 0, 6).moves[0])
    assert main(["othello", "show", transcript, "--board", "6"]) == 0
    moves = len(from_transcript(transcript, 6))
    assert f"after move {moves}: the game is over" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "f5d6a1"], "move 3 = 'a1': is illegal; black may play"),
        (["show", "f5d"], "move 2 = 'd': expected a square from a1 to h8"),
        (["show", "f5", "--board", "7"], "board = 7: expected a size out of 4, 6, 8"),
        (["generate", "--games", "5", "--out", "x", "--board", "5"], "board = 5: expected a size"),
        (["generate", "--games", "0", "--out", "x"], "games = 0: expected at least 1"),
        (["generate", "--games", "5", "--out", "x", "--format", "csv"], "--format"),
        (["generate", "--out", "x"], "--games"),
        (["sohw"], "did you mean 'othello show'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["othello", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["generate", "show"])
def test_help_imports_nothing_heavy(name):
    code = (
        f"import sys; from lengthwise.cli import main; main(['othello', {name!r}, '--help']);"
        "assert not {'torch', 'numba'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert f"Example: lengthwise othello {name}" in result.stdout
