"""Random Othello games per second, with what was legal before each move, on all cores.

The peers: two loops in C (othello.c, compiled here with the best flags; they play the very games of
the engine), pgx with the batch that suits it best, and the Python interfaces of open_spiel and
rust-reversi. The last two use one core: they are credited with as many times their speed as there
are cores. The single-threaded reference is the C loop that plays one game after the other.
"""

import ctypes
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import jax
import numpy
import pgx
import pyspiel
import rust_reversi
from _harness import Comparison, arguments, interleaved, report, seconds

from lengthwise.othello import Games, kernels, random_games

BATCH, ROUNDS = 32_768, 9
SPIEL_GAMES, RUST_GAMES, PGX_BATCHES = 200, 2000, (16, 64, 256, 1024)
CORES = len(os.sched_getaffinity(0))
CHUNK = 4096
STREAM = 20_000_000


class Engine:
    """The public function, as a training loop calls it: the next games at every call."""

    def __init__(self) -> None:
        self.calls = count()

    def __call__(self) -> None:
        """Play the next games."""
        random_games(BATCH, seed=0, start=next(self.calls) * BATCH)


class CLoop:
    """A loop of othello.c on some threads; each takes a chunk of games at a time, as ours do."""

    def __init__(self, library: ctypes.CDLL, name: str, threads: int) -> None:
        self.play = getattr(library, name)
        self.play.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.play.restype = None
        self.threads = threads

    def __call__(self) -> Games:
        """Play the first games of seed 0."""
        keys = numpy.empty(BATCH, dtype=numpy.uint64)
        moves = numpy.empty((BATCH, 60), dtype=numpy.uint8)
        legal = numpy.empty((BATCH, 60), dtype=numpy.uint64)

        def work(begin: int) -> None:
            part = slice(begin, begin + CHUNK)
            kernels.game_keys(keys[part], numpy.uint64(0), numpy.uint64(begin))
            arrays = (array[part].ctypes.data for array in (moves, legal))
            self.play(keys[part].ctypes.data, len(keys[part]), *arrays)

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, range(0, BATCH, CHUNK)))
        return Games(moves, legal)


def c_loops() -> dict[str, Callable[[], object]]:
    """The loops in C, once they have been seen to play our games; none without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("no C compiler (gcc or cc): the comparisons with C are left out")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "othello.so"
        source = Path(__file__).with_name("othello.c")
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
    loops = {
        "C, in step": CLoop(loaded, "play_in_step", CORES),
        "C, singly": CLoop(loaded, "play_singly", CORES),
        "C, singly, one thread": CLoop(loaded, "play_singly", 1),
    }
    ours = random_games(BATCH, seed=0)
    for name, loop in loops.items():
        theirs = loop()
        same = (ours.moves == theirs.moves).all() and (ours.legal == theirs.legal).all()
        assert same, f"{name} plays other games"
    return dict(loops)


def pgx_player(batch: int) -> Callable[[], object]:
    """Games in one compiled loop; 64 plies end all games but those with more than four passes."""
    env = pgx.make("othello")
    step = jax.vmap(env.step)

    def move(carry: Any, _: None) -> Any:
        state, key = carry
        key, now = jax.random.split(key)
        mask = state.legal_action_mask
        # Twice as fast as jax.random.categorical: one random number a game, not one a square.
        ranks = jax.numpy.cumsum(mask, axis=-1)
        rank = jax.random.uniform(now, (batch, 1)) * ranks[:, -1:]
        action = jax.numpy.argmax(ranks > rank, axis=-1)
        return (step(state, action), key), (action.astype(jax.numpy.uint8), mask)

    @jax.jit
    def play(key: Any) -> Any:
        state = jax.vmap(env.init)(jax.random.split(key, batch))
        return jax.lax.scan(move, (state, key), None, length=64)[1]

    keys = (jax.random.PRNGKey(number) for number in count())
    return lambda: jax.block_until_ready(play(next(keys)))


def best_pgx() -> tuple[Callable[[], object], int]:
    """The batch with the most games per second."""
    rates = {}
    for batch in PGX_BATCHES:
        player = pgx_player(batch)
        player()
        rates[batch] = batch / min(seconds(player) for _ in range(3)), player
    batch = max(rates, key=lambda size: rates[size][0])
    return rates[batch][1], batch


def play_open_spiel() -> list[Any]:
    game = pyspiel.load_game("othello")
    played: list[Any] = []
    for _ in range(SPIEL_GAMES):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            move = random.choice(legal)
            played.append((move, legal))
            state.apply_action(move)
    return played


def play_rust_reversi() -> list[Any]:
    played: list[Any] = []
    for _ in range(RUST_GAMES):
        board = rust_reversi.Board()
        while not board.is_game_over():
            if board.is_pass():
                board.do_pass()
                continue
            move = board.get_random_move()
            played.append((move, board.get_legal_moves()))
            board.do_move(move)
    return played


def main() -> int:
    options = arguments(__doc__ or "")
    pgx_play, pgx_batch = best_pgx()
    competitors: dict[str, Callable[[], object]] = {
        "engine": Engine(),
        **c_loops(),
        f"pgx, batch {pgx_batch}": pgx_play,
        "open_spiel x cores": play_open_spiel,
        "rust-reversi x cores": play_rust_reversi,
    }
    games = dict.fromkeys(competitors, BATCH)
    games[f"pgx, batch {pgx_batch}"] = pgx_batch
    games["open_spiel x cores"] = SPIEL_GAMES * CORES
    games["rust-reversi x cores"] = RUST_GAMES * CORES
    bars = {"C, in step": 0.75, "C, singly": 0.6, "open_spiel x cores": 100.0}
    bars[f"pgx, batch {pgx_batch}"] = 5.0

    taken = interleaved(competitors, ROUNDS)
    per_game = {name: taken[name] / games[name] for name in competitors}
    for name, value in per_game.items():
        print(f"  {name}: {1 / value:,.0f} games per second")
    print(f"  20 million games from the engine: {per_game['engine'] * STREAM:.0f} s")
    comparisons = [
        Comparison(f"engine / {name}", value / per_game["engine"], bars.get(name))
        for name, value in per_game.items()
        if name != "engine"
    ]
    return report(comparisons, per_game, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
