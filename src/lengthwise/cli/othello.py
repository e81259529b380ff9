"""`lengthwise othello generate` and `lengthwise othello show`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

PLAIN_SECONDS = 10.0
"""Time between lines where the output is not a terminal."""


@dataclass
class Generate:
    """Write random Othello games to a folder, in shards.

    Training needs no stored games: lengthwise.othello.random_games makes them faster than a disk
    gives them. This is for other tools. The same command goes on where it was stopped.

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
    """The number of the first game in the stream: 20_000_000 goes on after the example."""

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
        from lengthwise.othello.shards import ShardedGames, generate

        wanted = ShardedGames(
            games=self.games, seed=self.seed, board=self.board, start=self.start,
            split=self.split, format=self.format, legal=self.legal, shard_games=self.shard_games,
        )  # fmt: skip
        try:
            with _progress_display(self.games) as report:
                generate(self.out, wanted, report)
        except KeyboardInterrupt:
            print(f"stopped; the shards done are kept in {self.out}; the same command goes on")
            return 130
        shards = "1 shard" if wanted.shards == 1 else f"{wanted.shards} shards"
        print(f"{self.out}: {self.games} games in {shards}")
        return 0


@dataclass
class Show:
    """Draw the board after the moves of a transcript, with the moves that are legal then.

    Example: lengthwise othello show f5d6c3
    """

    transcript: tyro.conf.Positional[str]
    """The squares one after the other, passes left out."""

    board: int = 8
    """The size of the board: 4, 6 or 8."""

    def run(self) -> int:
        """Replay and draw."""
        from lengthwise.othello import from_transcript, positions

        moves = from_transcript(self.transcript, self.board)
        *_, position = positions(moves, self.board)
        print(position)
        print(f"\nX black {position.black.bit_count()}, O white {position.white.bit_count()}")
        player = "black" if position.black_to_move else "white"
        legal = position.legal.bit_count()
        print(
            f"after move {len(moves)}: {player} to move, * {legal} legal"
            if legal
            else f"after move {len(moves)}: the game is over"
        )
        return 0


@contextmanager
def _progress_display(games: int) -> Iterator[Callable[[int], None]]:
    """A bar with the time left on a terminal, and a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines(games)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bars:
        task = bars.add_task("games", total=games)
        yield lambda done: bars.update(task, completed=done)


class _PlainLines:
    def __init__(self, games: int) -> None:
        self._games = games
        self._began = self._printed = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._printed < PLAIN_SECONDS:
            return
        self._printed = now
        left = (now - self._began) * (self._games / done - 1)
        print(f"{done} of {self._games} games, {left:.0f} s left", file=sys.stderr)
