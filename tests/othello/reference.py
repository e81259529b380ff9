"""Othello as one would explain it: slow, obvious, and sharing nothing with the engine."""

from collections.abc import Iterator

DIRECTIONS = [(dr, dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if (dr, dc) != (0, 0)]
Square = tuple[int, int]
Discs = dict[Square, str]
WORD = 2**64 - 1


def start(size: int) -> Discs:
    high = size // 2
    low = high - 1
    return {(low, low): "white", (high, high): "white", (low, high): "black", (high, low): "black"}


def other(player: str) -> str:
    return "white" if player == "black" else "black"


def flips(discs: Discs, player: str, square: Square) -> list[Square]:
    """The discs that turn: in each direction those of the other player up to one's own."""
    turned = []
    for down, right in DIRECTIONS:
        row, column = square[0] + down, square[1] + right
        line = []
        while discs.get((row, column)) == other(player):
            line.append((row, column))
            row, column = row + down, column + right
        if discs.get((row, column)) == player:
            turned += line
    return turned


def legal(discs: Discs, player: str, size: int) -> list[Square]:
    """The empty squares where at least one disc turns, in reading order."""
    squares = [(row, column) for row in range(size) for column in range(size)]
    return [square for square in squares if square not in discs and flips(discs, player, square)]


def play(discs: Discs, player: str, square: Square) -> Discs:
    turned = flips(discs, player, square)
    return discs | dict.fromkeys([square, *turned], player)


def next_player(discs: Discs, player: str, size: int) -> str | None:
    """Who moves after `player` did; None if neither can."""
    for candidate in (other(player), player):
        if legal(discs, candidate, size):
            return candidate
    return None


def number(square: Square) -> int:
    return 8 * square[0] + square[1]


def mixed(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


def random_game(seed: int, game: int, size: int) -> Iterator[tuple[list[int], int, bool]]:
    """Legal squares, the move and whether the other player passed before it, ply by ply."""
    golden = 0x9E3779B97F4A7C15
    state = mixed((mixed((seed + golden) & WORD) + (game + 1) * golden) & WORD)
    discs, passed = start(size), False
    player: str | None = "black"
    while player is not None:
        choices = legal(discs, player, size)
        state = (state + golden) & WORD
        move = choices[(mixed(state) >> 32) * len(choices) >> 32]
        yield [number(square) for square in choices], number(move), passed
        discs = play(discs, player, move)
        following = next_player(discs, player, size)
        passed, player = following == player, following


def perft(discs: Discs, player: str, size: int, depth: int) -> int:
    if depth == 0:
        return 1
    choices = legal(discs, player, size)
    if not choices:
        if not legal(discs, other(player), size):
            return 1
        return perft(discs, other(player), size, depth - 1)
    return sum(
        perft(play(discs, player, square), other(player), size, depth - 1) for square in choices
    )
