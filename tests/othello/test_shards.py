"""Games on disk: resumed, checked, and usable when a part is damaged."""

import json
from dataclasses import replace
from typing import Any

import numpy
import polars
import pytest

from lengthwise.errors import InputError, LengthwiseWarning
from lengthwise.othello import ShardedGames, generate, random_games, stored_games

SMALL = ShardedGames(games=250, seed=3, board=6, shard_games=100)
BOTH = pytest.mark.parametrize("kept", ["npy", "parquet"])


def shard(folder, number, kept):
    return folder / f"{'moves' if kept == 'npy' else 'games'}-{number:05d}.{kept}"


@BOTH
@pytest.mark.parametrize("split", ["all", "train"])
def test_what_is_written_is_read(tmp_path, kept, split):
    done: list[Any] = []
    wanted = replace(SMALL, format=kept, split=split, start=40)
    generate(tmp_path / "games", wanted, done.append)
    assert done == [100, 200, 250]
    read = list(stored_games(tmp_path / "games"))
    assert [len(games) for games in read] == [100, 100, 50]
    expected = random_games(250, 3, 6, start=40, split=split)
    assert numpy.array_equal(numpy.concatenate([g.moves for g in read]), expected.moves)
    assert numpy.array_equal(numpy.concatenate([g.legal for g in read]), expected.legal)


@BOTH
def test_other_tools_find_moves_and_legal_sets(tmp_path, kept):
    generate(tmp_path, replace(SMALL, format=kept, legal=True))
    if kept == "npy":
        moves = numpy.load(tmp_path / "moves-00002.npy", mmap_mode="r")
        legal = numpy.load(tmp_path / "legal-00002.npy", mmap_mode="r")
    else:
        table = polars.read_parquet(tmp_path / "games-00002.parquet")
        moves, legal = table["moves"].to_numpy(), table["legal"].to_numpy()
    expected = random_games(50, 3, 6, start=200)
    assert numpy.array_equal(moves, expected.moves)
    assert numpy.array_equal(legal, expected.legal)
    assert (moves.dtype, legal.dtype) == (numpy.uint8, numpy.uint64)


@BOTH
def test_a_stopped_folder_is_finished(tmp_path, kept):
    wanted = replace(SMALL, format=kept, legal=True)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, wanted, stop)
    (tmp_path / ".moves-00001.npy.left").touch()  # as a process leaves it that was killed
    first = shard(tmp_path, 0, kept)
    before = first.stat()
    assert not shard(tmp_path, 1, kept).exists()
    with pytest.raises(InputError, match=r"-00001\.\w+ is missing"):
        list(stored_games(tmp_path))
    generate(tmp_path, wanted)
    assert sum(map(len, stored_games(tmp_path))) == 250
    assert first.stat().st_mtime_ns == before.st_mtime_ns


def truncated(path):
    path.write_bytes(path.read_bytes()[:-200])


def empty(path):
    path.write_bytes(b"")


def one_bit_flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def another_shard(path):
    other = path.with_name(path.name.replace("00001", "00002"))
    path.write_bytes(other.read_bytes())


@BOTH
@pytest.mark.parametrize("damage", [truncated, empty, one_bit_flipped, another_shard])
def test_a_damaged_shard_is_named_and_the_rest_is_usable(tmp_path, kept, damage):
    wanted = replace(SMALL, format=kept)
    generate(tmp_path, wanted)
    path = shard(tmp_path, 1, kept)
    damage(path)
    damaged = path.read_bytes()
    with pytest.raises(InputError, match=rf"{path.name} is damaged .*remove what is damaged"):
        list(stored_games(tmp_path))
    with pytest.warns(LengthwiseWarning, match=rf"{path.name} is damaged .*skipped"):
        rest = list(stored_games(tmp_path, skip_damaged=True))
    assert [len(games) for games in rest] == [100, 50]

    shard(tmp_path, 2, kept).unlink()
    with pytest.raises(InputError, match=rf"{path.name} is damaged .*all others are good"):
        generate(tmp_path, wanted)
    assert shard(tmp_path, 2, kept).exists()
    assert path.read_bytes() == damaged
    path.unlink()
    generate(tmp_path, wanted)
    assert sum(map(len, stored_games(tmp_path))) == 250


def test_games_that_stop_early_are_damage(tmp_path):
    generate(tmp_path, SMALL)
    path = shard(tmp_path, 1, "npy")
    moves = numpy.load(path)
    moves[7, 10:] = 255
    numpy.save(path, moves)
    with pytest.raises(InputError, match="a game stops before its end"):
        list(stored_games(tmp_path))


def test_nothing_is_unpickled(tmp_path):
    generate(tmp_path, SMALL)
    numpy.save(shard(tmp_path, 0, "npy"), numpy.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Object arrays cannot be loaded"):
        list(stored_games(tmp_path))


def test_a_damaged_legal_file_is_named(tmp_path):
    wanted = replace(SMALL, legal=True)
    generate(tmp_path, wanted)
    one_bit_flipped(tmp_path / "legal-00001.npy")
    with pytest.raises(InputError, match=r"legal-00001.npy is damaged \(its legal"):
        generate(tmp_path, wanted)


def test_other_games_are_left_alone(tmp_path):
    generate(tmp_path, SMALL)
    with pytest.raises(InputError, match=r"holds other games \(seed = 3, format = 'npy'\); choose"):
        generate(tmp_path, replace(SMALL, seed=4, format="parquet"))
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="a folder that is new, empty, or holds these games"):
        generate(foreign, SMALL)
    with pytest.raises(InputError, match="cannot be made"):
        generate(foreign / "thesis.txt", SMALL)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"games": {"games": "many"}}'])
def test_a_damaged_description_is_named(tmp_path, text):
    (tmp_path / "games.json").write_text(text)
    with pytest.raises(InputError, match=r"games\.json is damaged"):
        list(stored_games(tmp_path))


def test_a_folder_without_games(tmp_path):
    with pytest.raises(InputError, match=r"expected a folder of games, with a games\.json"):
        list(stored_games(tmp_path))


def test_the_folder_says_what_it_holds(tmp_path):
    generate(tmp_path, SMALL)
    assert ShardedGames.open(tmp_path) == SMALL
    assert json.loads((tmp_path / "games.json").read_text())["games"]["seed"] == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"games": 0}, "games = 0: expected at least 1"),
        ({"board": 7}, "board = 7: expected a size out of 4, 6, 8"),
        ({"seed": -1}, "seed = -1"),
        ({"shard_games": 0}, "shard_games = 0: expected at least 1"),
        ({"format": "csv"}, "format = 'csv'"),
        ({"split": "test"}, "split = 'test'"),
    ],
)
def test_bad_settings(change, message):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)
