"""`lengthwise othello` as a user calls it."""

import resource
import signal
import subprocess
import sys
import time

import numpy
import pytest
import torch

from lengthwise.cli import main
from lengthwise.models import GPTModel
from lengthwise.othello import from_transcript, random_games, stored_games, to_transcript
from lengthwise.othello.board import square_name
from lengthwise.runs import RunFolder, execute, load_model, recipe_for
from lengthwise.runs.othello_reading import read_game
from lengthwise.tasks import Othello
from lengthwise.training import Hyperparameters


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
    options = ["--games", 1_000_000, "--shard-games", 2_000, "--out", tmp_path / "out"]
    child = subprocess.Popen(command("generate", *options), stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "moves-00000.npy").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert "the same command resumes" in child.communicate()[0]
    assert child.returncode == 130
    assert not (tmp_path / "out" / "moves-00499.npy").exists()
    assert subprocess.run(command("generate", *options)).returncode == 0
    assert sum(map(len, stored_games(tmp_path / "out"))) == 1_000_000


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
        (["show"], "expected a transcript or --game: neither is given"),
        (["show", "f5", "--game", "7"], "expected a transcript or --game: both are given"),
        (["show", "--game", "-1"], "game = -1: expected a number of at least 0"),
        (["show", "f5", "--after", "2"], "after = 2: expected 0..1, as there are so many moves"),
        (["show", "f5", "--after", "-1"], "after = -1: expected 0..1"),
        (["show", "f5", "--after", "x"], "--after"),
        (["show", "f5", "--picture", "x.gif"], "'x.gif': expected a name ending in .png, .svg"),
        (["show", "f5", "--ema-power", "0.5"], "ema_power = 0.5: expected none, as there is no"),
        (["show", "f5", "--model-index", "1"], "model_index = 1: expected none, as there is no"),
        (["show", "f5", "--run", "x"], "run = 'x': expected a run folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["othello", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


GAME = random_games(1, 0, 4, start=7, split="held-out").moves[0].tolist()
"""What `--game 7` is on the small board; it has all 12 moves."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two models that read five moves in training."""
    model = GPTModel(layers=1, heads=4, width=64)
    settings = {"max_train_length": 5, "steps": 30, "batch": 32, "test_inputs": 8}
    recipe = recipe_for(Othello(4), model, **settings)
    seeds = [Hyperparameters(seed=seed, ema_powers=(0.5,)) for seed in range(2)]
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "othello", recipe, seeds, ["x"])
    execute(folder)
    return folder.path


def shown(capsys, *arguments):
    assert main(["othello", "show", *map(str, arguments)]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def moves_listed(out):
    """The rows below one board: name, per cent, legal or not."""
    rows = [line.split() for line in out.splitlines() if line.endswith("legal") and "%" in line]
    return [(name, float(percent), kind) for name, percent, _, kind in rows]


def test_what_a_model_expects_is_what_it_says(run, capsys):
    out = shown(capsys, "--game", 7, "--after", 4, "--run", run, "--model-index", 1)
    task, moves = Othello(4), GAME[:4]
    with torch.no_grad():
        logits = load_model(run, 1)(task.tokens(moves).unsqueeze(0))[0, -1]
    probabilities = logits.softmax(-1)
    legal = set(from_legal(moves))
    listed = moves_listed(out)
    assert len(listed) == 8
    names = [*(square_name(s) for s in task.squares(torch.arange(12)).tolist()), "end"]
    for place, (name, percent, kind) in enumerate(listed):
        index = int(probabilities.argsort(descending=True)[place])
        assert name == names[index]
        assert percent == pytest.approx(100 * float(probabilities[index]), abs=0.051)
        assert kind == ("legal" if name in legal else "illegal")
    mass = {name: float(p) for name, p in zip(names, probabilities, strict=True)}
    illegal = sum(p for name, p in mass.items() if name not in legal)
    tvd = sum(abs(p - (name in legal) / len(legal)) for name, p in mass.items()) / 2
    assert f"model 1, after 4 (trained): TVD {tvd:.3f}, illegal {100 * illegal:.1f} %" in out


def from_legal(moves):
    """The names of the squares that are legal after some moves, found by trying all of them."""
    names = [f"{column}{row}" for column in "abcd" for row in "1234"]
    for name in names:
        try:
            from_transcript(to_transcript(moves) + name, 4)
        except ValueError:
            continue
        yield name


def test_show_says_whether_a_length_was_trained(run, capsys):
    """Five moves are read in training; the sixth is only an answer."""
    out = shown(capsys, "--game", 7, "--after", 5, 6, "--run", run)
    assert "after 5 (trained)" in out
    assert "after 6 (not trained)" in out
    assert len(moves_listed(out)) == 16


def test_a_prefix_shows_what_the_transcript_up_to_it_shows(run, capsys):
    whole = shown(capsys, to_transcript(GAME[:9]), "--after", 3, "--run", run)
    assert whole == shown(capsys, to_transcript(GAME[:3]), "--run", run, "--board", 4)
    assert whole == shown(capsys, "--game", 7, "--after", 3, "--run", run)


def test_averages_are_read_as_well(run, capsys):
    options = ["--game", 7, "--after", 3, "--run", run]
    raw = shown(capsys, *options)
    ema = shown(capsys, *options, "--ema-power", 0.5)
    bema = shown(capsys, *options, "--ema-power", 0.5, "--bias-power", 0.2)
    assert "model 0, EMA power 0.5, bias power 0.2, after 3" in bema
    assert len({str(moves_listed(out)) for out in (raw, ema, bema)}) == 3


def test_probabilities_of_squares_and_padding_are_all_there_are(run):
    for read in read_game(run, GAME, [1, 6, 11]):
        assert sum(read.probabilities.values()) + read.padding == pytest.approx(1, abs=1e-5)
        assert len(read.probabilities) == 12


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_a_picture_is_written_and_never_replaced_unasked(run, suffix, tmp_path, capsys):
    picture = tmp_path / "new" / f"board.{suffix}"
    options = ["--game", 7, "--after", 3, 8, "--run", run, "--picture", picture]
    assert f"picture: {picture}" in shown(capsys, *options)
    written = picture.read_bytes()
    assert len(written) > 1000
    assert main(["othello", "show", "b1", "--board", "4", "--picture", str(picture)]) == 2
    complaint = f"picture = '{picture}': expected a file that does not exist yet, or --overwrite"
    assert capsys.readouterr().err == f"lengthwise: {complaint}\n"
    assert picture.read_bytes() == written
    shown(capsys, to_transcript(GAME[:1]), "--board", 4, "--picture", picture, "--overwrite")
    assert picture.read_bytes() != written


def test_a_run_that_is_not_finished_says_so(run, tmp_path, capsys):
    folder = RunFolder.open(run)
    begun = RunFolder.create(tmp_path / "begun", folder.recipe, folder.hyperparameters, ["x"])
    begun.save_checkpoint(0, folder.recipe.trainer(folder.hyperparameters).state_dict())
    assert "model 0, step 0 of 30, after 3" in shown(
        capsys, "--game", 7, "--after", 3, "--run", begun.path
    )


def test_a_run_is_asked_as_late_as_a_move_is_to_come(run, capsys):
    assert "after 11 (not trained)" in shown(capsys, "--game", 7, "--run", run)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "7", "--after", "3", "12"], "after = 12: expected 1..11, where"),
        (["--game", "7", "--after", "0"], "after = 0: expected 1..11"),
        (["--game", "7", "--after", "13"], "after = 13: expected 0..12"),
        ([""], "moves = []: expected at least one"),
        (["--game", "7", "--board", "8"], "board = 8: expected 4, the board of "),
        (["f5"], "move 1 = 'f5': expected a square from a1 to d4"),
        (["--game", "7", "--after", "3", "--model-index", "2"], "model = 2: expected one of 0..1"),
        (["--game", "7", "--after", "3", "--ema-power", "0.9"], "ema_power = 0.9: expected one"),
        (["--game", "7", "--after", "3", "--bias-power", "0.2"], "ema_power = None: expected a"),
        (["--game", "7", "--after", "3", "--picture", "x.gif"], "'x.gif': expected a name"),
    ],
)
def test_bad_input_with_a_run(run, arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["othello", "show", *arguments, "--run", str(run)]) == 2
    out, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert not out
    assert not list(tmp_path.iterdir())


def test_a_run_of_another_task_is_named(tmp_path, capsys):
    other = RunFolder.create(
        tmp_path / "x", recipe_for("set-complement"), [Hyperparameters()], ["x"]
    )
    assert main(["othello", "show", "f5", "--run", str(other.path)]) == 2
    expected = f"task of {other.path} = 'set-complement': expected 'othello'"
    assert capsys.readouterr().err == f"lengthwise: {expected}\n"


def test_a_run_without_a_checkpoint_is_one_line(run, tmp_path, capsys):
    folder = RunFolder.open(run)
    begun = RunFolder.create(tmp_path / "begun", folder.recipe, folder.hyperparameters, ["x"])
    assert main(["othello", "show", "--game", "7", "--after", "3", "--run", str(begun.path)]) == 2
    assert "expected a run with a checkpoint" in capsys.readouterr().err
