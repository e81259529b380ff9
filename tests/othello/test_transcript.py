"""Games in the usual notation, and positions along the way."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.othello import Position, from_transcript, positions, random_games, to_transcript
from lengthwise.othello.board import SIZES

GAMES = {size: random_games(200, 9, size) for size in SIZES}


@given(size=st.sampled_from(SIZES), game=st.integers(0, 199), plies=st.integers(0, 60))
def test_round_trip(size, game, plies):
    moves = GAMES[size].moves[game, :plies]
    read = from_transcript(to_transcript(moves), size)
    assert read == moves[moves != 255].tolist()


@given(size=st.sampled_from(SIZES), game=st.integers(0, 199))
def test_positions_have_the_legal_moves_of_the_game(size, game):
    games = GAMES[size]
    length = games.lengths[game]
    along = list(positions(games.moves[game, :length].tolist(), size))
    legal = [position.legal for position in along]
    assert legal == [*games.legal[game, :length].tolist(), 0]
    discs = [(position.black | position.white).bit_count() for position in along]
    assert discs == list(range(4, 5 + length))


def test_capitals_and_spaces_are_read():
    assert from_transcript("F5 d6\nC3") == [37, 43, 18] == from_transcript("f5d6c3")


@pytest.mark.parametrize(
    ("transcript", "message"),
    [
        ("a1", "move 1 = 'a1': is illegal; black may play d3, c4, f5, e6"),
        ("f5d6c3f5", "move 4 = 'f5': is illegal; white may play d3, f3, f4, g5"),
        ("f5d6x3", "move 3 = 'x3': expected a square from a1 to h8"),
        ("f5d6c9", "move 3 = 'c9': expected a square from a1 to h8"),
        ("f5d6c", "move 3 = 'c': expected a square from a1 to h8"),
        ("f5--d6", "move 2 = '--': expected a square from a1 to h8"),
        ("f5d6\u00b2\u00b2", "move 3 = '\u00b2\u00b2': expected a square"),
    ],
)
def test_a_bad_move_is_named_with_its_place(transcript, message):
    with pytest.raises(InputError, match=message.replace("\u00b2", ".")):
        from_transcript(transcript)


@pytest.mark.parametrize("square", [-1, 0, 27, 64, 255])
def test_a_position_refuses_an_illegal_move(square):
    with pytest.raises(InputError, match="is illegal; black may play d3, c4, f5, e6"):
        Position.start().after(square)


def test_squares_outside_a_small_board_are_refused():
    with pytest.raises(InputError, match="move 1 = 'f5': expected a square from a1 to d4"):
        from_transcript("f5", 4)


def test_a_move_after_the_end_is_refused():
    shortest = "e6f4e3f6g5d6e7f5c5"  # black takes everything at its ninth ply
    *_, last = positions(from_transcript(shortest))
    assert last.legal == last.white == 0
    with pytest.raises(InputError, match="move 10 = 'a1': is illegal; the game is over"):
        from_transcript(shortest + "a1")


def test_drawing():
    *_, position = positions(from_transcript("b1", 4), 4)
    assert str(position).splitlines() == [
        "   a b c d",
        " 1 * X * .",
        " 2 . X X .",
        " 3 * X O .",
        " 4 . . . .",
    ]


def test_a_position_is_a_value():
    assert Position.start(6) == Position.start(6) != Position.start(8)
    assert len({numpy.uint64(Position.start(size).legal) for size in SIZES}) == 3
