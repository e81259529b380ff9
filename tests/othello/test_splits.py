"""No held-out game, and no image of one, is ever trained on."""

import numpy
import pytest

from lengthwise.errors import InputError
from lengthwise.othello import held_out, random_games, replay
from lengthwise.othello.board import SIZES


def images(moves, size):
    """The game under all eight symmetries of the square."""
    row, column = moves // 8, moves % 8
    last = size - 1
    pairs = [(row, column), (row, last - column), (last - row, column), (last - row, last - column)]
    pairs += [(column, row) for row, column in pairs]
    return [
        numpy.where(moves == 255, 255, 8 * row + column).astype(numpy.uint8)
        for row, column in pairs
    ]


def is_game(moves, size):
    try:
        replay(moves[None], size)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("size", SIZES)
def test_four_of_eight_images_are_games_and_share_the_split(size):
    moves = random_games(3000, 0, size).moves
    mapped = images(moves, size)
    games = [numpy.array([is_game(one, size) for one in image[:200]]) for image in mapped]
    assert sum(map(numpy.ndarray.all, games)) == 4
    assert sum(not game.any() for game in games) == 4
    legal = [image for image, game in zip(mapped, games, strict=True) if game.all()]
    answers = [held_out(image, size) for image in legal]
    assert all(numpy.array_equal(answer, answers[0]) for answer in answers)
    assert answers[0].any()


@pytest.mark.parametrize("size", [4, 6])
def test_streams_are_disjoint_up_to_symmetry(size):
    """On 4 x 4 there are so few games that a leak would show at once."""
    train = random_games(200_000, 1, size, split="train").moves
    held = random_games(500, 2, size, split="held-out").moves
    trained = {game.tobytes() for game in train}
    assert all(game.tobytes() not in trained for image in images(held, size) for game in image)
    everything = {game.tobytes() for game in random_games(200_000, 3, size).moves}
    if size == 4:
        seen = [game.tobytes() in everything for game in held]
        assert numpy.mean(seen) > 0.9


def test_a_training_stream_replaces_only_what_is_held_out():
    everything, train = random_games(5000, 1), random_games(5000, 1, split="train")
    out = held_out(everything.moves)
    assert not held_out(train.moves).any()
    assert numpy.array_equal(everything.moves[~out], train.moves[~out])
    assert numpy.array_equal(everything.legal[~out], train.legal[~out])
    assert (everything.moves[out] != train.moves[out]).any(axis=1).all()
    assert numpy.array_equal(replay(train.moves).legal, train.legal)


def test_one_game_in_64_is_held_out():
    share = held_out(random_games(200_000, 2).moves).mean()
    assert share == pytest.approx(1 / 64, rel=0.1)  # five standard deviations are 0.09


def test_held_out_games_are_games():
    games = random_games(300, 3, split="held-out")
    assert held_out(games.moves).all()
    assert numpy.array_equal(replay(games.moves).legal, games.legal)
    assert len(numpy.unique(games.moves, axis=0)) == 300
