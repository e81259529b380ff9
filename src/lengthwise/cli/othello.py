"""`lengthwise othello generate` and `lengthwise othello show`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

if TYPE_CHECKING:
    from lengthwise.othello import Position
    from lengthwise.runs.othello_reading import NextMove

MOST_PROBABLE = 8
"""So many moves are listed that a model expects."""


@dataclass
class Generate:
    """Write random Othello games to a folder, in shards.

    Training needs no stored games: lengthwise.othello.random_games makes them faster than a disk
    gives them. This is for other tools. The same command resumes where it was stopped.

    Example: lengthwise othello generate --games 20_000_000 --out games
    """

    games: int
    """How many games."""

    out: Path
    """The folder to write; new, empty, or with the same games unfinished."""

    board: int = 8
    """The size of the board: 4, 6 or 8."""

    seed: int = 0
    """Of the stream of games."""

    start: int = 0
    """The number of the first game in the stream: 20_000_000 continues the example."""

    split: Literal["all", "train", "held-out"] = "all"
    """All games, those that may be trained on, or the one in 64 that is held out."""

    format: Literal["npy", "parquet"] = "npy"
    """Of the shards."""

    legal: bool = False
    """Keep what was legal before each move, too: 480 bytes a game beside the 60 of its moves."""

    shard_games: int = 100_000
    """Games per shard; memory holds one shard."""

    def run(self) -> int:
        """Write what is missing, and say what is there."""
        from lengthwise.cli.terminal import progress_display
        from lengthwise.othello.shards import ShardedGames, generate
        from lengthwise.progress import Progress

        wanted = ShardedGames(
            games=self.games, seed=self.seed, board=self.board, start=self.start,
            split=self.split, format=self.format, legal=self.legal, shard_games=self.shard_games,
        )  # fmt: skip
        try:
            with progress_display() as report:
                generate(
                    self.out,
                    wanted,
                    lambda done: report(Progress("othello", done, self.games, "games")),
                )
        except KeyboardInterrupt:
            print(f"stopped; the shards done are kept in {self.out}; the same command resumes")
            return 130
        shards = "1 shard" if wanted.shards == 1 else f"{wanted.shards} shards"
        print(f"{self.out}: {self.games} games in {shards}")
        return 0


@dataclass
class Show:
    """Draw the board after the moves of a game, with the legal moves and what a model expects.

    Example: lengthwise othello show f5d6c3

    Example: lengthwise othello show --game 7 --after 12 40 --run runs/othello --picture board.svg
    """

    transcript: tyro.conf.Positional[
        Annotated[str | None, tyro.conf.arg(metavar="[TRANSCRIPT]")]
    ] = None
    """The squares one after the other, passes left out."""

    game: int | None = None
    """In place of a transcript: the held-out game of this number, of seed 0."""

    after: tuple[int, ...] = ()
    """After how many moves, one board each; by default after all of them, or with a run after the
    last ones that another move follows."""

    board: int | None = None
    """The size of the board: 4, 6 or 8. By default that of the run, or 8."""

    run_folder: Annotated[Path | None, tyro.conf.arg(name="run")] = None
    """A run folder of 'lengthwise train othello', whose model reads the moves."""

    model_index: int = 0
    """Which model of the run."""

    ema_power: float | None = None
    """Take the EMA of this power, if the run kept it, instead of the last weights."""

    bias_power: float | None = None
    """Take the BEMA of this power."""

    picture: Path | None = None
    """A drawing of the boards to write; its name ends in .svg, .png or .pdf."""

    overwrite: bool = False
    """Replace the picture if it is there."""

    def run(self) -> int:
        """Replay, ask the model, draw, print."""
        from lengthwise.errors import require
        from lengthwise.othello import positions

        keep = self.picture is not None and self.picture.exists() and not self.overwrite
        expected = "a file that does not exist yet, or --overwrite"
        require(not keep, "picture", str(self.picture), expected)
        board = self._board()
        moves = self._moves(board)
        reached = list(positions(moves, board))
        after = self.after or (self._last(reached),)
        expected = f"0..{len(moves)}, as there are so many moves"
        for number in after:
            require(0 <= number <= len(moves), "after", number, expected)
        read = self._read(moves, after)
        shown = [Shown(number, reached[number], read.get(number)) for number in after]
        if self.picture is not None:
            _draw(shown, self.picture)
        model = "" if self.run_folder is None else self._model_name()
        print("\n\n".join(_text(one, model) for one in shown))
        if self.picture is not None:
            print(f"\npicture: {self.picture}")
        return 0

    def _last(self, reached: Sequence["Position"]) -> int:
        asked = [number for number, position in enumerate(reached) if position.legal]
        return len(reached) - 1 if self.run_folder is None else asked[-1]

    def _board(self) -> int:
        from lengthwise.errors import require

        if self.run_folder is None:
            for field, unset in (("model_index", 0), ("ema_power", None), ("bias_power", None)):
                value = getattr(self, field)
                require(value == unset, field, value, "none, as there is no --run")
            return 8 if self.board is None else self.board
        from lengthwise.runs.othello_reading import othello_run

        board = othello_run(self.run_folder)[1].board
        expected = f"{board}, the board of {self.run_folder}"
        require(self.board in (None, board), "board", self.board, expected)
        return board

    def _moves(self, board: int) -> list[int]:
        from lengthwise.errors import InputError, require
        from lengthwise.othello import from_transcript, random_games

        if (self.transcript is None) == (self.game is None):
            given = "both are" if self.game is not None else "neither is"
            raise InputError(f"expected a transcript or --game: {given} given")
        if self.transcript is not None:
            return from_transcript(self.transcript, board)
        assert self.game is not None
        require(self.game >= 0, "game", self.game, "a number of at least 0")
        games = random_games(1, 0, board, self.game, split="held-out", threads=1)
        played: list[int] = games.moves[0, : games.lengths[0]].tolist()
        return played

    def _read(self, moves: list[int], after: tuple[int, ...]) -> "dict[int, NextMove]":
        """By the number of moves; empty without a run."""
        if self.run_folder is None:
            return {}
        import torch

        from lengthwise.runs.othello_reading import read_game

        torch.set_num_threads(1)
        read = read_game(
            self.run_folder, moves, after, self.model_index,
            ema_power=self.ema_power, bias_power=self.bias_power,
        )  # fmt: skip
        return {expected.moves: expected for expected in read}

    def _model_name(self) -> str:
        powers = (("EMA", self.ema_power), ("bias", self.bias_power))
        kept = "".join(f", {name} power {power:g}" for name, power in powers if power is not None)
        return f"{self.run_folder}, model {self.model_index}{kept}{self._unfinished()}"

    def _unfinished(self) -> str:
        from lengthwise.runs import RunFolder

        assert self.run_folder is not None
        folder = RunFolder.open(self.run_folder)
        step, steps = folder.newest_step(), folder.recipe.steps
        return "" if step == steps else f", step {step} of {steps}"


class Shown(NamedTuple):
    """A board to show, and what a model expects there, if one was asked."""

    number: int
    position: "Position"
    expected: "NextMove | None"


def _player(position: "Position") -> str:
    if not position.legal:
        return "the game is over"
    return "black to move" if position.black_to_move else "white to move"


def _trained(expected: "NextMove") -> str:
    return "trained" if expected.trained else "not trained"


def _measured(expected: "NextMove") -> str:
    return f"TVD {expected.tvd:.3f}, illegal {100 * expected.illegal_mass:.1f} %"


def _draw(shown: list[Shown], picture: Path) -> None:
    from lengthwise.report.boards import BoardPicture, draw_boards
    from lengthwise.report.style import save

    boards = []
    for number, position, expected in shown:
        title = f"after {number} move{'s' * (number != 1)}"
        note, probabilities = _player(position), None
        if expected is not None:
            title += f" ({_trained(expected)})"
            note += f": {_measured(expected)}"
            probabilities = expected.probabilities
        boards.append(BoardPicture(position, title, note, probabilities))
    save(draw_boards(boards), picture)


def _text(one: Shown, model: str) -> str:
    number, position, expected = one
    legal = position.legal.bit_count()
    lines = [
        f"{position}\n",
        f"X black {position.black.bit_count()}, O white {position.white.bit_count()}",
        f"after move {number}: {_player(position)}" + (f", * {legal} legal" if legal else ""),
    ]
    if expected is not None:
        lines += ["", f"{model}, after {number} ({_trained(expected)}): {_measured(expected)}"]
        lines += _most_probable(expected)
    return "\n".join(lines)


def _most_probable(expected: "NextMove") -> list[str]:
    from lengthwise.othello.board import square_name

    moves = [
        (p, square_name(square), "legal" if expected.position.legal >> square & 1 else "illegal")
        for square, p in expected.probabilities.items()
    ]
    moves.append((expected.padding, "end", "illegal"))
    moves.sort(key=lambda move: -move[0])
    return [f"  {name:3} {100 * p:5.1f} %  {kind}" for p, name, kind in moves[:MOST_PROBABLE]]
