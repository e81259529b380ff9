"""One position at a time, for looking at games rather than making millions of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from numpy import uint64

from lengthwise.errors import InputError, require
from lengthwise.othello.board import Board, board_of, square_name
from lengthwise.othello.kernels import flipped, leaves, legal_moves


@dataclass(frozen=True)
class Position:
    """Who has discs where, and who is to move. Sets of squares are integers of 64 bits."""

    board: Board
    """The board that it stands on."""
    black: int
    """The black discs, a bit per square."""
    white: int
    """The white discs, a bit per square."""
    black_to_move: bool = True
    """Whether it is black's turn."""

    @classmethod
    def start(cls, board: int = 8) -> Self:
        """The position in which a game starts.

        Args:
            board: 4, 6 or 8 squares along a side.
        """
        found = board_of(board)
        return cls(found, int(found.black), int(found.white))

    @property
    def legal(self) -> int:
        """The squares where the player to move may play; empty only if the game is over."""
        own, opponent = self._discs()
        return int(legal_moves(own, opponent, self.board.playable))

    def after(self, square: int) -> Self:
        """The position after a legal move; an opponent who cannot answer passes silently.

        Args:
            square: Number of the square, from 0, row by row.

        Raises:
            InputError: The move is illegal.
        """
        if not self._allows(square):
            raise InputError(_illegal(self, "move", square))
        move = uint64(1 << square)
        own, opponent = self._discs()
        flips = uint64(flipped(move, own, opponent))
        mover, other = int(own | flips | move), int(opponent & ~flips)
        black, white = (mover, other) if self.black_to_move else (other, mover)
        answered = type(self)(self.board, black, white, not self.black_to_move)
        if answered.legal:
            return answered
        passed = type(self)(self.board, black, white, self.black_to_move)
        return passed if passed.legal else answered

    def __str__(self) -> str:
        """The board as text: X black, O white, * legal for the player to move."""
        size, legal = self.board.size, self.legal
        lines = ["   " + " ".join("abcdefgh"[:size])]
        for row in range(size):
            squares = range(8 * row, 8 * row + size)
            lines.append(f" {row + 1} " + " ".join(self._sign(square, legal) for square in squares))
        return "\n".join(lines)

    def _allows(self, square: int) -> bool:
        return 0 <= square < 64 and bool(self.legal >> square & 1)

    def _sign(self, square: int, legal: int) -> str:
        signs = {"X": self.black, "O": self.white, "*": legal}
        return next((sign for sign, squares in signs.items() if squares >> square & 1), ".")

    def _discs(self) -> tuple[uint64, uint64]:
        black, white = uint64(self.black), uint64(self.white)
        return (black, white) if self.black_to_move else (white, black)


def positions(moves: Iterable[int], board: int = 8) -> Iterator[Position]:
    """The start and the position after each move; an illegal move is named with its place.

    Args:
        moves: Squares of a game, in order.
        board: 4, 6 or 8 squares along a side.

    Raises:
        InputError: A move is illegal; it is named with its place.
    """
    position = Position.start(board)
    yield position
    for place, square in enumerate(moves, 1):
        if not position._allows(square):
            raise InputError(_illegal(position, f"move {place}", square))
        position = position.after(square)
        yield position


def perft(depth: int, board: int = 8) -> int:
    """Count the lines of `depth` plies from the start, as published tables do.

    A pass is a ply here, and a game that ends before `depth` counts once.

    Args:
        depth: How many plies.
        board: 4, 6 or 8 squares along a side.

    Raises:
        InputError: `depth` is negative, or there is no such board.
    """
    require(depth >= 0, "depth", depth, "a number of plies >= 0")
    found = board_of(board)
    return int(leaves(found.black, found.white, found.playable, depth))


def squares_in(squares: int) -> list[int]:
    """The squares of a set, in order."""
    return [square for square in range(64) if squares >> square & 1]


def _illegal(position: Position, field: str, square: int) -> str:
    name = square_name(square) if 0 <= square < 64 else str(square)
    legal = ", ".join(map(square_name, squares_in(position.legal)))
    player = "black" if position.black_to_move else "white"
    right = f"{player} may play {legal}" if legal else "the game is over"
    return f"{field} = {name!r}: is illegal; {right}"
