"""Random games: a pure function of seed and number, and uniform."""

import multiprocessing
import os
import subprocess
import sys
from typing import Any

import numba
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.othello import Games, held_out, kernels, random_games, replay, to_transcript
from lengthwise.othello.board import SIZES, board_of

FIRST_GAME = (
    "d3c5c6c7e6e3b7c3c2f6g6d2b2b1f3a7c1f2b5a1a2f5g4b3c8f4g3d6g1h7"
    "a8c4e2f7g8a5b4f8a3h2d1e1h3d7e7h8g7b6f1h5g2h1d8h6a4a6b8h4g5e8"
)


def same(left: Games, right: Games) -> bool:
    return numpy.array_equal(left.moves, right.moves) and numpy.array_equal(left.legal, right.legal)


def part(games: Games, begin: int, end: int) -> Games:
    return Games(games.moves[begin:end], games.legal[begin:end], games.board)


@pytest.mark.parametrize("size", SIZES)
def test_shape_and_padding(size):
    games = random_games(500, 0, size)
    plies = board_of(size).moves
    assert games.moves.shape == games.legal.shape == (500, plies) == (len(games), plies)
    assert games.moves.dtype == numpy.uint8
    assert games.legal.dtype == numpy.uint64
    over = numpy.arange(plies) >= games.lengths[:, None]
    assert numpy.array_equal(games.moves == 255, over)
    assert numpy.array_equal(games.legal == 0, over)


def test_the_first_game_stays_what_it_is():
    """Data named by a seed must not change from version to version."""
    assert to_transcript(random_games(1, seed=0).moves[0]) == FIRST_GAME


@given(
    start=st.integers(0, 9000), count=st.integers(0, 300), threads=st.integers(1, 3),
    split=st.sampled_from(["all", "train"]),
)  # fmt: skip
def test_a_game_does_not_depend_on_the_call(start, count, threads, split):
    games = random_games(count, 5, 4, start=start, split=split, threads=threads)
    assert same(games, part(FAR[split], start, start + count))


FAR = {split: random_games(9300, 5, 4, split=split) for split in ("all", "train")}


@pytest.mark.parametrize("split", ["all", "train", "held-out"])
def test_threads_change_nothing(split):
    one, three = (random_games(10_000, 1, 4, split=split, threads=n) for n in (1, 3))
    assert same(one, three)


def test_seeds_give_other_games():
    seeds = [0, 1, 2, 2**63, 2**64 - 1]
    games = {random_games(4, seed).moves.tobytes() for seed in seeds}
    assert len(games) == len(seeds)
    moves = random_games(20_000, 0).moves
    assert len(numpy.unique(moves, axis=0)) == len(moves)


def test_games_far_out_in_the_stream():
    start = 2**63 - 10
    games = random_games(10, 0, start=start)
    assert same(random_games(1, 0, start=start + 9), part(games, 9, 10))
    assert same(replay(games.moves), games)
    with pytest.raises(InputError, match="start"):
        random_games(11, 0, start=start)


def test_moves_are_uniform_over_the_legal_ones():
    """The rank of the move among the legal squares, for each number of legal squares."""
    games = random_games(40_000, 2)
    played = games.moves != 255
    move, legal = games.moves[played].astype(numpy.uint64), games.legal[played]
    rank = numpy.bitwise_count(legal & ((numpy.uint64(1) << move) - numpy.uint64(1)))
    choices = numpy.bitwise_count(legal)
    tested = 0
    for number in range(2, 19):
        counts = numpy.bincount(rank[choices == number], minlength=number)
        expected = counts.sum() / number
        statistic = ((counts - expected) ** 2 / expected).sum()
        # Chi-squared has mean number - 1 and variance twice that: five standard deviations.
        assert statistic < number - 1 + 5 * (2 * (number - 1)) ** 0.5
        tested += counts.sum()
    assert tested > 2_000_000


@pytest.mark.parametrize("size", SIZES)
def test_replay_finds_what_was_legal(size):
    games = random_games(300, 4, size)
    assert same(replay(games.moves, size), games)
    beginnings = replay(games.moves[:, :7], size)
    assert numpy.array_equal(beginnings.legal, games.legal[:, :7])


def test_replay_takes_any_layout(tmp_path):
    games = random_games(20, 4)
    numpy.save(tmp_path / "moves.npy", games.moves)
    mapped = numpy.load(tmp_path / "moves.npy", mmap_mode="r")
    turned = numpy.asfortranarray(games.moves)
    compiled: Any = kernels.replay
    before = len(compiled.signatures)
    for moves in (mapped, turned):
        assert numpy.array_equal(replay(moves).legal, games.legal)
        assert numpy.array_equal(held_out(moves), held_out(games.moves))
    assert numpy.array_equal(replay(games.moves[::2]).legal, games.legal[::2])
    assert len(compiled.signatures) <= max(1, before)  # compiled once for all


def test_replay_of_a_game_cut_short():
    games = random_games(100, 4)
    moves = games.moves.copy()
    moves[50, 20:] = 255
    assert numpy.array_equal(replay(moves).legal[50, :21], games.legal[50, :21])
    assert not replay(moves).legal[50, 21:].any()
    moves[50, 30] = games.moves[50, 30]
    with pytest.raises(InputError, match="game 50, move 31"):
        replay(moves)


@given(game=st.integers(0, 9999), ply=st.integers(0, 59), square=st.integers(0, 254))
def test_replay_names_an_illegal_move(game, ply, square):
    moves = MANY.moves.copy()
    if square < 64 and int(MANY.legal[game, ply]) >> square & 1:
        square = 27  # occupied from the start
    moves[game, ply] = square
    with pytest.raises(InputError, match=f"game {game}, move {ply + 1} = .* is illegal"):
        replay(moves)


MANY = random_games(10_000, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": -1}, "count = -1: expected"),
        ({"seed": -1}, "seed = -1: expected"),
        ({"seed": 2**64}, "seed = 18446744073709551616: expected"),
        ({"start": -1}, "start = -1: expected"),
        ({"threads": 0}, "threads = 0: expected"),
        ({"split": "trian"}, "split = 'trian': did you mean 'train'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        random_games(**({"count": 1, "seed": 0} | arguments))


@pytest.mark.parametrize(
    "moves",
    [
        numpy.zeros(60, numpy.uint8),
        numpy.zeros((2, 61), numpy.uint8),
        numpy.zeros((2, 0), numpy.uint8),
        numpy.zeros((2, 60), numpy.int64),
    ],
)
@pytest.mark.parametrize("use", [replay, held_out])
def test_what_are_no_games_is_refused(moves, use):
    with pytest.raises(InputError, match=r"moves = .*: expected uint8, games x 1 to 60 moves"):
        use(moves)


def _games_of_a_child(queue):
    queue.put(random_games(10_000, 6, threads=2).moves.tobytes())


def test_a_forked_process_plays_the_same_games():
    """Data loaders fork; threads of OpenMP would not survive it."""
    random_games(10_000, 6, threads=2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_games_of_a_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == MANY.moves.tobytes()
    child.join()


def test_compiled_code_needs_no_place_to_be_kept():
    code = (
        "from numba.core import caching\n"
        "caching.CompileResultCacheImpl._locator_classes = []\n"
        "from lengthwise.othello import Position\n"
        "print(Position.start().legal)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == f"{1 << 19 | 1 << 26 | 1 << 37 | 1 << 44}\n", result.stderr


def test_the_package_itself_stays_light():
    code = "import sys, lengthwise; assert not {'numba', 'torch'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@given(squares=st.integers(0, 2**64 - 1), data=st.data())
def test_the_square_of_a_rank_by_search_and_by_instruction(squares, data):
    """Both ways to choose a move give the n-th of the legal ones; processors have one or both."""
    of_rank = [number for number in range(64) if squares >> number & 1]
    rank = data.draw(st.integers(0, max(0, len(of_rank) - 1)))
    expected = 1 << of_rank[rank] if of_rank else 0
    ways = [by_search, by_deposit] if kernels.DEPOSITS else [by_search]
    for way in ways:
        assert int(way(numpy.uint64(squares), numpy.uint64(rank))) == expected


@numba.njit
def by_search(squares, rank):
    return kernels._by_search(squares, rank)


@numba.njit
def by_deposit(squares, rank):
    return kernels._by_deposit(squares, rank)


def test_games_are_the_same_without_the_instruction():
    """On a processor that has no such instruction, or is said to have none."""
    code = (
        "from lengthwise.othello import random_games, to_transcript, kernels\n"
        "assert not kernels.DEPOSITS\n"
        "print(to_transcript(random_games(300, 5).moves[299]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    )
    assert found.stdout.strip() == to_transcript(random_games(300, 5).moves[299])
