"""Games in the usual notation: the squares one after the other, `f5d6c3`."""

from collections.abc import Iterable

from lengthwise.errors import InputError
from lengthwise.othello.board import board_of, square_name
from lengthwise.othello.kernels import NO_MOVE
from lengthwise.othello.position import positions


def to_transcript(moves: Iterable[int]) -> str:
    """Write the squares of a game, or of its beginning, up to its end.

    Args:
        moves: Squares of a game, in order.
    """
    squares = [int(square) for square in moves]
    end = squares.index(NO_MOVE) if NO_MOVE in squares else len(squares)
    return "".join(map(square_name, squares[:end]))


def from_transcript(transcript: str, board: int = 8) -> list[int]:
    """Read the squares of a game, and play it to see that every move is legal.

    Capitals and spaces are allowed; passes are not written.

    Args:
        transcript: Moves such as "f5d6c3".
        board: 4, 6 or 8 squares along a side.

    Raises:
        InputError: Naming the move that cannot be read or played, and its place.
    """
    size = board_of(board).size
    text = "".join(transcript.lower().split())
    moves = []
    for place, begin in enumerate(range(0, len(text), 2), 1):
        name = text[begin : begin + 2]
        column, row = "abcdefgh"[:size].find(name[0]), "12345678"[:size].find(name[1:])
        if len(name) != 2 or column < 0 or row < 0:
            last = square_name(9 * (size - 1))
            raise InputError(f"move {place} = {name!r}: expected a square from a1 to {last}")
        moves.append(8 * row + column)
    for _ in positions(moves, board):
        pass
    return moves
