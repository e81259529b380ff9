"""What a trained GPT makes of one Othello game."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from lengthwise.errors import InputError, require
from lengthwise.measures.distribution import illegal_mass, total_variation
from lengthwise.othello import Position, positions
from lengthwise.runs.folder import RunFolder
from lengthwise.runs.models import load_model
from lengthwise.runs.recipe import Recipe
from lengthwise.tasks import Othello


@dataclass(frozen=True)
class NextMove:
    """What a model expects after the first moves of a game."""

    moves: int
    """How many moves it has read."""
    position: Position
    """Where they lead; the model does not see it."""
    probabilities: dict[int, float]
    """Of every square that can be played on at all, 8 * row + column."""
    padding: float
    """The probability of the class that stands after the end of a game, which is illegal."""
    tvd: float
    """Total variation distance to the uniform distribution on legal moves."""
    illegal_mass: float
    """Probability of all illegal moves together."""
    trained: bool
    """Whether so many moves were read in training."""


def othello_run(run: Path) -> tuple[Recipe, Othello]:
    """The recipe and the task of a run folder, which must be one of Othello.

    Args:
        run: The run's folder.

    Raises:
        InputError: The run is of another task.
    """
    recipe = RunFolder.open(run).recipe
    if not isinstance(recipe.task, Othello):
        raise InputError(f"task of {run} = {recipe.task.name!r}: expected {Othello.name!r}")
    return recipe, recipe.task


@torch.no_grad()
def read_game(
    run: Path,
    moves: Sequence[int],
    after: Sequence[int],
    index: int = 0,
    *,
    ema_power: float | None = None,
    bias_power: float | None = None,
) -> list[NextMove]:
    """Let a model of a run read a game, and note what it expects after some numbers of moves.

    Args:
        run: The folder of a run of Othello.
        moves: The squares of the game, or of its beginning.
        after: Numbers of moves after which the game goes on.
        index: Which model of the run's fleet.
        ema_power: Take the EMA of this power, which the run must have kept, not the last weights.
        bias_power: Take the BEMA of this power and `ema_power`.

    Raises:
        InputError: There is no move, or no game goes on after one of the numbers.
    """
    recipe, task = othello_run(run)
    reached = list(positions(moves, task.board))
    require(len(moves) > 0, "moves", list(moves), "at least one: before it, nothing is asked")
    last = max(number for number, position in enumerate(reached) if position.legal)
    expected = f"1..{last}, where a move has been read and one is to come"
    for number in after:
        require(1 <= number <= last, "after", number, expected)
    model = load_model(run, index, ema_power=ema_power, bias_power=bias_power)
    tokens = task.tokens(list(moves[: max(after, default=1)])).unsqueeze(0)
    device = next(model.parameters()).device
    logits = model(tokens.to(device))[0].cpu()
    targets = task.targets(tokens)[0]
    squares = task.squares(torch.arange(task.classes - 1)).tolist()
    found = []
    for number in after:
        asked = logits[number - 1], targets[number - 1]
        *probabilities, padding = asked[0].softmax(-1).tolist()
        found.append(
            NextMove(
                number,
                reached[number],
                dict(zip(squares, probabilities, strict=True)),
                padding,
                tvd=float(total_variation(*asked)),
                illegal_mass=float(illegal_mass(*asked)),
                trained=number <= recipe.max_train_length,
            )
        )
    return found
