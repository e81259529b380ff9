"""Games on disk: a folder of shards that explains itself.

games.json           what the games are; with it every shard can be made again
moves-00000.npy      the moves of the first games, uint8, one row a game
legal-00000.npy      what was legal before each move, uint64, if asked for
games-00000.parquet  the same two as columns of one file
"""

import io
import json
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy
import polars
from numpy.typing import NDArray

from lengthwise._version import __version__
from lengthwise.errors import InputError, LengthwiseWarning, require, require_name
from lengthwise.files import read_parquet, read_text, regular, write_bytes, write_text, write_with
from lengthwise.othello.board import board_of
from lengthwise.othello.games import Games, Split, random_games, replay
from lengthwise.othello.kernels import NO_MOVE

Format = Literal["npy", "parquet"]

MOST_GAMES = 10**12
"""More are a typing error: no disk holds them. Ours."""

Report = Callable[[int], None]
"""Called with how many games are done."""
Columns = dict[str, NDArray[Any]]

_DESCRIPTION = "games.json"
_REMEDY = "remove what is damaged, and the command that made the folder makes it again"
_UNREADABLE = (
    OSError,
    ValueError,
    MemoryError,
    tokenize.TokenError,  # from the header of a .npy file
    polars.exceptions.PolarsError,
    polars.exceptions.PanicException,  # what a few damaged Parquet files raise
)


class _DamagedError(Exception):
    """A file of a shard does not hold what it should."""


@dataclass(frozen=True)
class ShardedGames:
    """Which games a folder holds, and how they are cut into files."""

    games: int
    """How many games in all."""
    seed: int
    """Seed of the games."""
    board: int = 8
    """Squares along a side."""
    start: int = 0
    """Number of the first game."""
    split: Split = "all"
    """Which games: all, those of training or those held out."""
    format: Format = "npy"
    """In which format files are written."""
    legal: bool = False
    """Whether the legal moves are kept too: nine times the size, and replaying finds them."""
    shard_games: int = 100_000
    """How many games a file has at most."""

    def __post_init__(self) -> None:
        board_of(self.board)
        require(self.games >= 1, "games", self.games, "at least 1")
        require(self.games <= MOST_GAMES, "games", self.games, f"at most {MOST_GAMES}")
        require(self.shard_games >= 1, "shard_games", self.shard_games, "at least 1")
        require_name(self.format, get_args(Format), "format")
        random_games(0, self.seed, self.board, self.start, split=self.split)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """What the folder holds according to its description.

        Args:
            folder: A folder that `generate` wrote.

        Raises:
            InputError: The folder holds no games, or its description is damaged.
        """
        file = folder / _DESCRIPTION
        require(file.is_file(), "folder", str(folder), f"a folder of games, with a {_DESCRIPTION}")
        try:
            return cls(**json.loads(read_text(file))["games"])
        except InputError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{file} is damaged: expected the JSON of a folder of games"
            ) from error

    @property
    def shards(self) -> int:
        """The number of shards."""
        return -(-self.games // self.shard_games)

    def made(self, shard: int) -> Games:
        """The games of a shard, played.

        Args:
            shard: Number of the shard, from 0.
        """
        first = shard * self.shard_games
        count = min(self.shard_games, self.games - first)
        return random_games(count, self.seed, self.board, self.start + first, split=self.split)

    def file(self, column: str, shard: int) -> str:
        """The name of the file with a column (moves, legal) of a shard.

        Args:
            column: "moves" or "legal".
            shard: Number of the shard, from 0.
        """
        return f"{column if self.format == 'npy' else 'games'}-{shard:05d}.{self.format}"


def generate(folder: Path, wanted: ShardedGames, report: Report | None = None) -> None:
    """Write the shards that are missing and check those that are there.

    Memory holds one shard at a time. A folder that was left unfinished is finished.

    Args:
        folder: Where to write.
        wanted: Which games, and how.
        report: Is told how far it is.

    Raises:
        InputError: If the folder holds other games, or if shards are damaged: they are left alone
            and named, once all others are there.
    """
    _describe(folder, wanted)
    damaged = []
    for shard in range(wanted.shards):
        games = wanted.made(shard)
        try:
            _write_missing(folder, wanted, shard, games)
        except _DamagedError as error:
            damaged.append(str(error))
        if report is not None:
            report(min((shard + 1) * wanted.shard_games, wanted.games))
    if damaged:
        raise InputError(f"{'; '.join(damaged)}; all others are good; {_REMEDY}")


def stored_games(folder: Path, *, skip_damaged: bool = False) -> Iterator[Games]:
    """Read a folder of games, shard by shard, every game replayed.

    Args:
        folder: What `generate` wrote.
        skip_damaged: Warn of a shard that is damaged or missing, and continue with the next.

    Raises:
        InputError: Naming the shard that is damaged or missing.
    """
    found = ShardedGames.open(folder)
    for shard in range(found.shards):
        try:
            games = _whole_games(folder / found.file("moves", shard), found, shard)
        except _DamagedError as error:
            if not skip_damaged:
                raise InputError(
                    f"{error}; {_REMEDY}, or skip_damaged=True leaves it out"
                ) from error
            warnings.warn(f"{error}: skipped", LengthwiseWarning, stacklevel=2)
            continue
        yield games


def _describe(folder: Path, wanted: ShardedGames) -> None:
    file = folder / _DESCRIPTION
    if file.exists():
        found = asdict(ShardedGames.open(folder))
        others = [
            f"{name} = {found[name]!r}"
            for name, value in asdict(wanted).items()
            if found[name] != value
        ]
        if others:
            raise InputError(
                f"out = {str(folder)!r}: holds other games ({', '.join(others)}); "
                "choose another folder"
            )
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A process that was killed may leave a hidden file behind.
        empty = all(entry.name.startswith(".") for entry in folder.iterdir())
    except OSError as error:
        raise InputError(f"out = {str(folder)!r}: cannot be made: {error.strerror}") from error
    require(empty, "out", str(folder), "a folder that is new, empty, or holds these games")
    about = {"games": asdict(wanted), "version": __version__}
    write_text(file, json.dumps(about, indent=1) + "\n")


def _write_missing(folder: Path, wanted: ShardedGames, shard: int, games: Games) -> None:
    """Write the files of a shard; compare those that exist with what they should hold."""
    files: dict[str, Columns] = {wanted.file("moves", shard): {"moves": games.moves}}
    if wanted.legal:
        files.setdefault(wanted.file("legal", shard), {})["legal"] = games.legal
    for name, columns in files.items():
        _write_or_compare(folder / name, columns)


def _write_or_compare(path: Path, columns: Columns) -> None:
    if not path.exists():
        (_write_npy if path.suffix == ".npy" else _write_parquet)(path, columns)
        return
    found = _read(path, list(columns))
    for name, expected in columns.items():
        if not numpy.array_equal(found[name], expected):
            raise _DamagedError(f"{path} is damaged (its {name} are not those of its games)")


def _write_npy(path: Path, columns: Columns) -> None:
    (array,) = columns.values()

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            header = numpy.lib.format.header_data_from_array_1_0(array)
            numpy.lib.format.write_array_header_1_0(file, header)
            file.write(array.data)  # unlike numpy.save this says why a disk refuses

    write_with(path, write)


def _write_parquet(path: Path, columns: Columns) -> None:
    content = io.BytesIO()
    polars.DataFrame(columns).write_parquet(content)
    write_bytes(path, content.getvalue())


def _read(path: Path, names: list[str]) -> Columns:
    try:
        if path.suffix == ".npy":
            with regular(path).open("rb") as file:
                return {names[0]: numpy.lib.format.read_array(file, allow_pickle=False)}
        table = read_parquet(path, names)
        return {name: table[name].to_numpy() for name in names}
    except FileNotFoundError as error:
        raise _DamagedError(f"{path} is missing") from error
    except _UNREADABLE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise _DamagedError(f"{path} is damaged ({reason})") from error


def _whole_games(path: Path, found: ShardedGames, shard: int) -> Games:
    """The games of a shard, if they are as many as they should be and each is played to its end."""
    moves = _read(path, ["moves"])["moves"]
    count = min(found.shard_games, found.games - shard * found.shard_games)
    try:
        games = replay(moves, found.board)
        shape = count, board_of(found.board).moves
        require(moves.shape == shape, "shape", moves.shape, str(shape))
    except InputError as error:
        raise _DamagedError(f"{path} is damaged ({error})") from error
    if (games.legal[games.moves == NO_MOVE] != 0).any():
        raise _DamagedError(f"{path} is damaged (a game stops before its end)")
    return games
