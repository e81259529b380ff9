"""Random games, as many as wanted, each a pure function of its seed and number."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, get_args

import numpy
from numpy import bool_, uint8, uint64
from numpy.typing import NDArray

from lengthwise.errors import InputError, require, require_name
from lengthwise.othello import kernels
from lengthwise.othello.board import Board, board_of, square_name
from lengthwise.othello.kernels import NO_MOVE, Squares, Words

Split = Literal["all", "train", "held-out"]

HELD_OUT = 64
"""One game in so many is held out (ours); the same ones for everybody."""

_CHUNK = 4096
"""Games that a thread takes at a time."""


@dataclass(frozen=True)
class Games:
    """Games, one per row."""

    moves: Squares
    """The square of each move, 8 * row + column; 255 after the end of the game."""
    legal: Words
    """The legal squares before each move, one bit each; 0 after the end of the game."""
    board: int = 8
    """Squares along a side."""

    def __len__(self) -> int:
        """How many games these are."""
        return len(self.moves)

    @property
    def lengths(self) -> NDArray[numpy.int64]:
        """The number of moves of each game."""
        return (self.moves != NO_MOVE).sum(axis=1)


def random_games(
    count: int,
    seed: int,
    board: int = 8,
    start: int = 0,
    *,
    split: Split = "all",
    threads: int | None = None,
) -> Games:
    """Play `count` games of uniformly random legal moves.

    A player who cannot move passes silently: the next move is the opponent's. The game ends when
    neither can move. Game i of a seed is the same whatever `start`, `count` and `threads` are.

    Args:
        count: How many games.
        seed: Of the stream of games, from 0 to 2**64 - 1.
        board: 4, 6 or 8.
        start: The number of the first game in the stream.
        split: "train" for games that are not held out, "held-out" for those that are: every game of
            the wrong kind is replaced by the next one drawn in its place.
        threads: How many to use; by default one per core.

    Raises:
        InputError: A number is out of its range, or there is no such split.
    """
    chosen = board_of(board)
    require(count >= 0, "count", count, "a number of games >= 0")
    require(0 <= seed < 2**64, "seed", seed, "a number from 0 to 2**64 - 1")
    require(0 <= start <= 2**63 - count, "start", start, "a number of a game, from 0 to 2**63")
    require_name(split, get_args(Split), "split")
    keys = numpy.empty(count, dtype=uint64)
    moves = numpy.empty((count, chosen.moves), dtype=uint8)
    legal = numpy.empty((count, chosen.moves), dtype=uint64)

    def fill(part: slice) -> None:
        kernels.game_keys(keys[part], uint64(seed), uint64(start + part.start))
        _play(keys[part], moves[part], legal[part], board, split)

    _for_each_chunk(fill, count, threads)
    return Games(moves, legal, board)


def replay(moves: Squares, board: int = 8, *, threads: int | None = None) -> Games:
    """Play games again, whole ones or their first moves, to find what was legal.

    Args:
        moves: One game per row, 255 after its end.
        board: 4, 6 or 8.
        threads: How many to use; by default one per core.

    Raises:
        InputError: Naming a move that is illegal, its game and its place.
    """
    chosen = board_of(board)
    moves = _plain(moves, chosen)
    legal = numpy.empty(moves.shape, dtype=uint64)

    def fill(part: slice) -> None:
        game, ply = kernels.replay(
            moves[part], legal[part], chosen.black, chosen.white, chosen.playable
        )
        if game >= 0:
            game += part.start
            square = int(moves[game, ply])
            name = square_name(square) if square < 64 else str(square)
            raise InputError(f"game {game}, move {ply + 1} = {name!r}: is illegal")

    _for_each_chunk(fill, len(moves), threads)
    return Games(moves, legal, board)


def held_out(moves: Squares, board: int = 8) -> NDArray[bool_]:
    """Which of these whole games are held out; the images of a game share its answer.

    Four of the eight symmetries of the board map games to games: those that keep the colours of
    the four discs of the start. The others give sequences whose first move is already illegal. The
    four map the four first moves onto one another, so among the images of a game there is one that
    begins with the lowest of them. A hash of that one decides.

    Args:
        moves: Squares of whole games, `(games, moves)`.
        board: 4, 6 or 8 squares along a side.
    """
    chosen = board_of(board)
    hashes = numpy.empty(len(moves), dtype=uint64)
    opposite = uint64(9 * (chosen.size - 1))
    kernels.canonical_hashes(_plain(moves, chosen), opposite, hashes)
    return hashes % uint64(HELD_OUT) == 0


def _plain(moves: Squares, board: Board) -> Squares:
    """The games in the one form that code is compiled for: a read-only array is another."""
    fits = moves.ndim == 2 and 1 <= moves.shape[1] <= board.moves and moves.dtype == uint8
    found = f"{moves.dtype} of shape {moves.shape}"
    require(fits, "moves", found, f"uint8, games x 1 to {board.moves} moves")
    return numpy.require(moves, requirements=["C", "W", "E"])


def _play(keys: Words, moves: Squares, legal: Words, board: int, split: Split) -> None:
    chosen = board_of(board)
    begin = chosen.black, chosen.white, chosen.playable
    kernels.play(keys, moves, legal, *begin)
    if split == "all":
        return
    wanted = split == "held-out"
    wrong = numpy.flatnonzero(held_out(moves, board) != wanted)
    keys = keys[wrong]
    while len(wrong):
        kernels.redraw_keys(keys)
        redrawn = Games(moves[wrong], legal[wrong], board)
        kernels.play(keys, redrawn.moves, redrawn.legal, *begin)
        moves[wrong], legal[wrong] = redrawn.moves, redrawn.legal
        still = held_out(redrawn.moves, board) != wanted
        wrong, keys = wrong[still], keys[still]


def _for_each_chunk(work: Callable[[slice], None], count: int, threads: int | None) -> None:
    """Plain threads, since compiled code holds no lock: unlike OpenMP they survive a fork."""
    if threads is None:
        threads = len(os.sched_getaffinity(0))
    require(threads >= 1, "threads", threads, "a number >= 1")
    chunks = [slice(begin, min(begin + _CHUNK, count)) for begin in range(0, count, _CHUNK)]
    if threads == 1 or len(chunks) == 1:
        for chunk in chunks:
            work(chunk)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, chunks):
            pass
