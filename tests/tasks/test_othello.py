"""The Othello task against rules written as one would explain them."""

import numpy
import pytest
import torch
from othello import reference

from lengthwise.errors import InputError
from lengthwise.models import GPTModel
from lengthwise.othello import held_out
from lengthwise.runs import recipe_for
from lengthwise.tasks import IGNORE_INDEX, Batch, Othello
from lengthwise.training import Hyperparameters

NO_MOVE = 255


def whole_games(task: Othello, batch: Batch) -> numpy.ndarray:
    """All moves of games that were drawn in full length, as squares."""
    last = batch.labels[..., -1:]
    last = last.masked_fill(last == IGNORE_INDEX, task.classes - 1)
    return task.squares(torch.cat([batch.inputs, last], -1))


def legal_after_each(moves: list[int], size: int) -> tuple[list[set[int]], int]:
    """The legal squares after every move, by the slow rules, and how often a player passed."""
    discs, player, passes, found = reference.start(size), "black", 0, []
    for move in moves:
        square = divmod(move, 8)
        assert square in reference.legal(discs, player, size)
        discs = reference.play(discs, player, square)
        following = reference.next_player(discs, player, size)
        if following is None:
            found.append(set())
            continue
        passes += following == player
        player = following
        found.append({reference.number(s) for s in reference.legal(discs, player, size)})
    return found, passes


@pytest.mark.parametrize("split", ["train", "held-out"])
@pytest.mark.parametrize(("size", "count"), [(4, 150), (6, 60), (8, 25)])
def test_targets_are_what_the_rules_allow(size: int, count: int, split: str) -> None:
    task = Othello(size, split)  # type: ignore[arg-type]
    batch = task.draw(torch.tensor(1), task.lengths[-1], count)
    targets = task.targets(batch.inputs)
    assert (targets[..., -1] == 0).all(), "padding is never right"
    ends = passes = 0
    for game, target, labels in zip(
        whole_games(task, batch), targets.numpy(), batch.labels, strict=True
    ):
        moves = [int(move) for move in game if move != NO_MOVE]
        assert (game[len(moves) :] == NO_MOVE).all()
        allowed, passed = legal_after_each(moves, size)
        passes += passed
        ends += len(moves) < len(game)
        for place, row in enumerate(target):
            legal = allowed[place] if place < len(moves) else set()
            squares = task.squares(torch.from_numpy(row).nonzero().flatten())
            assert set(squares.tolist()) == legal
            assert all(abs(mass - 1 / len(legal)) < 1e-6 for mass in row[row > 0])
            assert (int(labels[place]) == IGNORE_INDEX) == (not legal)
    assert passes > 0, "the games must have passes"
    assert ends > 0 or size == 8, "and ends before the board is full"


@pytest.mark.parametrize("size", [4, 6, 8])
def test_training_never_holds_a_held_out_game_and_tests_nothing_else(size: int) -> None:
    for split in ("train", "held-out"):
        task = Othello(size, split)  # type: ignore[arg-type]
        keys = torch.tensor([5, -7])
        games = whole_games(task, task.draw(keys, task.lengths[-1], 400)).reshape(800, -1)
        assert (held_out(games, size) == (split == "held-out")).all()
        short = task.draw(keys, 3, 400)
        assert numpy.array_equal(task.squares(short.inputs).reshape(800, -1), games[:, :3])


@pytest.mark.parametrize("moves", [5, 12])
def test_what_a_trainer_reads_are_the_first_moves_of_training_games(moves: int) -> None:
    model = GPTModel(layers=1, heads=2, width=8)
    recipe = recipe_for(Othello(4), model, max_train_length=moves - 1, batch=300, steps=40)
    trainer = recipe.trainer([Hyperparameters(seed=seed) for seed in range(2)])
    assert trainer.task == Othello(4, split="train")
    batch = trainer._batch(20)
    games = whole_games(Othello(4), batch)
    assert games.shape == (2, 300, moves)
    assert not numpy.array_equal(games[0], games[1])
    for game in games[:, :30].reshape(60, -1).tolist():
        legal_after_each([move for move in game if move != NO_MOVE], 4)
    if moves == 12:
        assert not held_out(games.reshape(600, -1), 4).any()


@pytest.mark.parametrize("size", [4, 6, 8])
def test_tokens_are_the_squares_that_are_empty_at_the_start(size: int) -> None:
    task = Othello(size)
    tokens = torch.arange(task.classes)
    squares = task.squares(tokens).tolist()
    assert torch.equal(task.tokens(squares), tokens)
    assert squares[-1] == NO_MOVE
    taken = {reference.number(square) for square in reference.start(size)}
    board = [8 * row + column for row in range(size) for column in range(size)]
    assert squares[:-1] == [square for square in board if square not in taken]
    assert task.lengths == range(1, len(squares) - 1)


def test_no_square_is_played_twice() -> None:
    task = Othello(6)
    for game in whole_games(task, task.draw(torch.tensor(2), task.lengths[-1], 200)):
        moves = game[game != NO_MOVE].tolist()
        assert len(set(moves)) == len(moves)


def test_a_game_that_cannot_be_is_named() -> None:
    with pytest.raises(InputError, match="game 0, move 1 = 'a1': is illegal"):
        Othello(8).targets(Othello(8).tokens([0, 1]).unsqueeze(0))


@pytest.mark.parametrize("board", [5, 0, 10, -4])
def test_boards_that_do_not_exist(board: int) -> None:
    with pytest.raises(InputError, match=f"board = {board}: expected a size out of 4, 6, 8"):
        Othello(board)


def test_splits_that_do_not_exist() -> None:
    with pytest.raises(InputError, match="split = 'test'"):
        Othello(8, "test")  # type: ignore[arg-type]
