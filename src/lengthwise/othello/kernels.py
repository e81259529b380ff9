"""The rules and the play, compiled. All compiled code is in this one file.

Numba notices that a cached function is stale by its own file only; what it calls must live there.

A position is two sets of squares, `own` (of the player to move) and `opponent`, each 64 bits with
bit 8 * row + column. `playable` holds the squares of the board: a smaller board is a corner of the
8 x 8 one, and whatever leaves it meets neither a disc nor an empty square.

Games are played many at a time, in step. Every rule is straight-line code on 64-bit words without a
branch or a table, so the compiler turns a loop over games into vector instructions, whichever the
processor has; that is worth a factor of five to ten. It needs the rules inlined early:
`inline="always"`.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy import uint8, uint64
from numpy.typing import NDArray

from lengthwise.compiled import compiled

Words = NDArray[uint64]
Squares = NDArray[uint8]
Function = TypeVar("Function", bound=Callable[..., Any])

NO_MOVE = 255
"""In place of a square, after the end of a game."""

LANES = 64
"""Games played in step: enough to fill vector registers, few enough for the first-level cache."""

# Numba makes a float of uint64 and int64 together: constants must be unsigned words as well.
_ZERO, _ONE, _LAST = uint64(0), uint64(1), uint64(63)
_NO_MOVE = uint64(NO_MOVE)
_ACROSS, _RISING, _DOWN, _FALLING = uint64(1), uint64(7), uint64(8), uint64(9)
_INNER_COLUMNS = uint64(0x7E7E7E7E7E7E7E7E)
_HALF = uint64(32)
_GOLDEN = uint64(0x9E3779B97F4A7C15)
_REDRAWN = uint64(0xD1B54A32D192ED03)


def _inlined(function: Function) -> Function:
    return cast(Function, numba.njit(inline="always")(function))


@intrinsic
def _count_bits(context: Any, word: Any) -> Any:
    """How many squares are in a set: one instruction, also in a vector."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _deposited(context: Any, word: Any, squares: Any) -> Any:
    """The bits of a word, the lowest first, put into the squares of a set: one instruction."""
    whole = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(whole, [whole, whole])
        deposit = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pdep.64")
        return builder.call(deposit, arguments)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _lowest(context: Any, squares: Any) -> Any:
    """The lowest square of a set, 64 of an empty one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


# Rules


@_inlined
def _run_up(origin, through, step):  # type: ignore[no-untyped-def]
    """All of `through` that is reached from `origin` in a line of steps to higher squares."""
    run = through & (origin << step)
    run |= through & (run << step)
    pairs = through & (through << step)
    run |= pairs & (run << (step + step))
    run |= pairs & (run << (step + step))
    return run


@_inlined
def _run_down(origin, through, step):  # type: ignore[no-untyped-def]
    run = through & (origin >> step)
    run |= through & (run >> step)
    pairs = through & (through >> step)
    run |= pairs & (run >> (step + step))
    run |= pairs & (run >> (step + step))
    return run


@_inlined
def _beyond(own, through, step):  # type: ignore[no-untyped-def]
    """The squares next to a line of the opponent's discs that begins beside one's own."""
    up = _run_up(own, through, step) << step
    return up | (_run_down(own, through, step) >> step)


@_inlined
def _legal(own, opponent, playable):  # type: ignore[no-untyped-def]
    # No line passes through the edge columns except along them: so no step wraps around.
    inner = opponent & _INNER_COLUMNS
    reached = _beyond(own, inner, _ACROSS) | _beyond(own, inner, _FALLING)
    reached |= _beyond(own, inner, _RISING) | _beyond(own, opponent, _DOWN)
    return reached & playable & ~(own | opponent)


@_inlined
def _enclosed(move, own, through, step):  # type: ignore[no-untyped-def]
    """The opponent's discs on one line, both ways, between the move and one's own disc."""
    up = _run_up(move, through, step)
    down = _run_down(move, through, step)
    up = up if (up << step) & own else _ZERO
    down = down if (down >> step) & own else _ZERO
    return up | down


@_inlined
def _flips(move, own, opponent):  # type: ignore[no-untyped-def]
    inner = opponent & _INNER_COLUMNS
    flips = _enclosed(move, own, inner, _ACROSS) | _enclosed(move, own, inner, _FALLING)
    return flips | _enclosed(move, own, inner, _RISING) | _enclosed(move, own, opponent, _DOWN)


@compiled
def legal_moves(own: uint64, opponent: uint64, playable: uint64) -> uint64:
    """The squares where the player to move may play."""
    return _legal(own, opponent, playable)


@compiled
def flipped(move: uint64, own: uint64, opponent: uint64) -> uint64:
    """The opponent's discs that a move turns; `move` is a set of one square."""
    return _flips(move, own, opponent)


@compiled
def leaves(own: uint64, opponent: uint64, playable: uint64, depth: int) -> uint64:
    """The number of lines of `depth` plies, a pass counted as one, and of games that end sooner."""
    legal = legal_moves(own, opponent, playable)
    if depth == 0:
        return _ONE
    if legal == _ZERO:
        if legal_moves(opponent, own, playable) == _ZERO:
            return _ONE
        return leaves(opponent, own, playable, depth - 1)
    if depth == 1:
        return _count_bits(legal)  # type: ignore[call-arg]
    total = _ZERO
    while legal != _ZERO:
        move = legal & (~legal + _ONE)
        legal ^= move
        flips = flipped(move, own, opponent)
        total += leaves(opponent & ~flips, own | flips | move, playable, depth - 1)
    return total


@_inlined
def _words():  # type: ignore[no-untyped-def]
    """Room for a word per lane. Rows of one matrix would not be known to be contiguous."""
    return numpy.empty(LANES, dtype=uint64)


@compiled
def _advance(own: Words, opponent: Words, legal: Words, moves: Words, playable: uint64) -> None:
    """Make a move in every lane and find what is legal then; a player who cannot move passes."""
    for lane in range(LANES):
        before = own[lane]
        flips = _flips(moves[lane], before, opponent[lane])
        mover = opponent[lane] & ~flips
        other = before | flips | moves[lane]
        own[lane] = mover
        opponent[lane] = other
        legal[lane] = _legal(mover, other, playable)
    for lane in range(LANES):
        if legal[lane] == _ZERO:
            legal[lane] = legal_moves(opponent[lane], own[lane], playable)
            own[lane], opponent[lane] = opponent[lane], own[lane]


# Random play


@_inlined
def _mixed(word):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64: near words give unrelated ones."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@_inlined
def _narrowed(squares, rank, place, width, mask):  # type: ignore[no-untyped-def]
    """One step of a binary search for the square of a rank: skip `width` squares or stay."""
    skipped = _count_bits((squares >> place) & mask)
    beyond = skipped <= rank
    return rank - (skipped if beyond else _ZERO), place + (width if beyond else _ZERO)


@_inlined
def _ranked(squares, rank):  # type: ignore[no-untyped-def]
    """The square of `rank` (0, 1, ...) in a set that has more than `rank`."""
    rank, place = _narrowed(squares, rank, _ZERO, uint64(32), uint64(0xFFFFFFFF))
    rank, place = _narrowed(squares, rank, place, uint64(16), uint64(0xFFFF))
    rank, place = _narrowed(squares, rank, place, uint64(8), uint64(0xFF))
    rank, place = _narrowed(squares, rank, place, uint64(4), uint64(0xF))
    rank, place = _narrowed(squares, rank, place, uint64(2), uint64(0x3))
    rank, place = _narrowed(squares, rank, place, uint64(1), uint64(0x1))
    return place


@_inlined
def _by_search(squares, rank):  # type: ignore[no-untyped-def]
    """The set of the square of a rank, of an empty set the empty one."""
    return (_ONE << (_ranked(squares, rank) & _LAST)) & squares


@_inlined
def _by_deposit(squares, rank):  # type: ignore[no-untyped-def]
    """The same, for processors that have an instruction for it."""
    return _deposited(_ONE << rank, squares)


DEPOSITS = bool(llvmlite.binding.get_host_cpu_features().get("bmi2")) and not any(
    getattr(numba.config, f"CPU_{option}", None) for option in ("NAME", "FEATURES")
)
"""Whether code is compiled for a processor that has the instruction, as that of x86 has."""

_of_rank = _by_deposit if DEPOSITS else _by_search


@compiled
def game_keys(keys: Words, seed: uint64, start: uint64) -> None:
    """Fill `keys` with the keys of the games `start`, `start` + 1, ... of a seed."""
    origin = _mixed(seed + _GOLDEN)
    for index in range(len(keys)):
        keys[index] = _mixed(origin + (start + uint64(index) + _ONE) * _GOLDEN)


@compiled
def redraw_keys(keys: Words) -> None:
    """Give every key its successor: that of the game drawn in place of a rejected one."""
    for index in range(len(keys)):
        keys[index] = _mixed(keys[index] ^ _REDRAWN)


@compiled
def play(
    keys: Words, moves: Squares, legal: Words, black: uint64, white: uint64, playable: uint64
) -> None:
    """Play one random game per key; `moves` and `legal` are games x plies, and are filled.

    The n-th number of a game is a mix of its key and n. Its upper half, scaled to the number of
    legal moves, chooses the move: a probability is off by less than 2**-32.
    """
    own, opponent, available, chosen = _words(), _words(), _words(), _words()
    state, words = _words(), _words()
    for first in range(0, len(keys), LANES):
        block_moves, block_legal = moves[first : first + LANES], legal[first : first + LANES]
        width = len(block_moves)
        for lane in range(LANES):
            own[lane], opponent[lane] = black, white
            available[lane] = legal_moves(black, white, playable)
            state[lane] = keys[first + min(lane, width - 1)]
        for ply in range(moves.shape[1]):
            for lane in range(LANES):
                state[lane] += _GOLDEN
                words[lane] = _mixed(state[lane]) >> _HALF
            for lane in range(LANES):
                count: uint64 = _count_bits(available[lane])  # type: ignore[call-arg]
                chosen[lane] = _of_rank(available[lane], (words[lane] * count) >> _HALF)
            for lane in range(width):
                square: uint64 = _lowest(chosen[lane])  # type: ignore[call-arg]
                block_moves[lane, ply] = square if chosen[lane] else _NO_MOVE
                block_legal[lane, ply] = available[lane]
            _advance(own, opponent, available, chosen, playable)


@compiled
def replay(
    moves: Squares, legal: Words, black: uint64, white: uint64, playable: uint64
) -> tuple[int, int]:
    """Fill in the legal moves of games that were played, whole ones or beginnings.

    Returns:
        Game and ply of an illegal move (the first ply of its block of games), or (-1, -1).
    """
    own, opponent, available, chosen = _words(), _words(), _words(), _words()
    for first in range(0, len(moves), LANES):
        block_moves, block_legal = moves[first : first + LANES], legal[first : first + LANES]
        for lane in range(LANES):
            own[lane], opponent[lane] = black, white
            available[lane] = legal_moves(black, white, playable)
            chosen[lane] = _ZERO
        for ply in range(moves.shape[1]):
            for lane in range(len(block_moves)):
                square = block_moves[lane, ply]
                block_legal[lane, ply] = available[lane]
                if square == NO_MOVE:
                    # Nothing may follow the end: on an empty board no move is legal.
                    own[lane] = opponent[lane] = chosen[lane] = _ZERO
                    continue
                chosen[lane] = _ONE << (uint64(square) & _LAST)
                if square > _LAST or not chosen[lane] & available[lane]:
                    return first + lane, ply
            _advance(own, opponent, available, chosen, playable)
    return -1, -1


# Splits


@_inlined
def _image(square, corner, transposed, turned):  # type: ignore[no-untyped-def]
    """Where a symmetry takes a square: over the diagonal from a1, then around by half a turn."""
    if transposed:
        square = (square >> uint64(3)) | ((square & uint64(7)) << uint64(3))
    return corner - square if turned else square


@compiled
def canonical_hashes(moves: Squares, corner: uint64, hashes: Words) -> None:
    """Hash each game, or rather its image whose first move is lowest; `corner` is opposite a1."""
    for game in range(len(moves)):
        first = uint64(moves[game, 0])
        transposed, turned, lowest = False, False, first
        for over in (False, True):
            for around in (False, True):
                image = _image(first, corner, over, around)
                if image < lowest:
                    transposed, turned, lowest = over, around, image
        word = _GOLDEN
        for ply in range(moves.shape[1]):
            square = uint64(moves[game, ply])
            if square == _NO_MOVE:
                break
            word = (word ^ _image(square, corner, transposed, turned)) * uint64(0x100000001B3)
        hashes[game] = _mixed(word)
