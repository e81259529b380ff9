"""The rules against published counts, a slow reference, and another engine."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from othello import reference

from lengthwise.errors import InputError
from lengthwise.othello import Position, perft, random_games
from lengthwise.othello.board import SIZES, board_of
from lengthwise.othello.kernels import flipped, legal_moves

PUBLISHED = [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]


def test_perft_gives_the_published_counts():
    assert [perft(depth) for depth in range(10)] == PUBLISHED


@pytest.mark.parametrize(("size", "depth"), [(4, 8), (6, 5)])
def test_perft_of_small_boards_agrees_with_the_reference(size, depth):
    """Eight plies on 4 x 4 have passes and games that end early."""
    counted = reference.perft(reference.start(size), "black", size, depth)
    assert perft(depth, size) == counted


@st.composite
def any_position(draw, size):
    """Discs anywhere: positions that no game reaches, with lines along all edges."""
    playable = int(board_of(size).playable)
    words = st.integers(0, 2**64 - 1)
    occupied = (draw(words) | draw(words)) & playable
    own = draw(words) & occupied
    return own, occupied & ~own


@pytest.mark.parametrize("size", SIZES)
@given(data=st.data())
def test_any_position_has_the_legal_moves_and_flips_of_the_reference(size, data):
    own, opponent = data.draw(any_position(size))
    squares = [(row, column) for row in range(size) for column in range(size)]
    discs = {
        square: "black" if own >> reference.number(square) & 1 else "white"
        for square in squares
        if (own | opponent) >> reference.number(square) & 1
    }
    words = numpy.uint64(own), numpy.uint64(opponent)
    expected = reference.legal(discs, "black", size)
    found = int(legal_moves(*words, board_of(size).playable))
    assert found == sum(1 << reference.number(square) for square in expected)
    for square in expected:
        turned = reference.flips(discs, "black", square)
        move = numpy.uint64(1 << reference.number(square))
        assert int(flipped(move, *words)) == sum(1 << reference.number(one) for one in turned)


def check_against_reference(seed, numbers, size):
    """Every position of the games; returns how many passes there were."""
    passes = 0
    for game in numbers:
        ours = random_games(1, seed, size, start=int(game))
        plies = list(reference.random_game(seed, int(game), size))
        unused = board_of(size).moves - len(plies)
        assert ours.moves[0].tolist() == [move for _, move, _ in plies] + [255] * unused
        sets = [sum(1 << square for square in legal) for legal, _, _ in plies]
        assert ours.legal[0].tolist() == sets + [0] * unused
        passes += sum(passed for _, _, passed in plies)
    return passes


@pytest.mark.parametrize(("size", "games"), [(4, 2000), (6, 1000), (8, 1000)])
def test_random_games_are_those_of_the_reference(size, games):
    assert check_against_reference(7, range(games), size) > games / 10


def test_games_that_end_early_are_those_of_the_reference():
    lengths = random_games(100_000, 3).lengths
    early = numpy.flatnonzero(lengths < 50)
    assert len(early) > 20
    check_against_reference(3, early, 8)


def test_another_engine_agrees():
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    othello = pyspiel.load_game("othello")
    games = random_games(300, 11)
    for moves, legal, length in zip(games.moves, games.legal, games.lengths, strict=True):
        state = othello.new_initial_state()
        for move, squares in zip(moves[:length].tolist(), legal.tolist(), strict=False):
            while state.legal_actions() == [64]:  # a pass
                state.apply_action(64)
            assert sum(1 << action for action in state.legal_actions()) == squares
            state.apply_action(move)
        while not state.is_terminal() and state.legal_actions() == [64]:
            state.apply_action(64)
        assert state.is_terminal()


@pytest.mark.parametrize("size", [0, 2, 5, 7, 10, -8, 8.0, "8", None])
def test_an_unsupported_board_is_refused(size):
    for use in (board_of, Position.start, lambda one: random_games(1, 0, one)):
        with pytest.raises(InputError, match=r"board = .*: expected a size out of 4, 6, 8"):
            use(size)
