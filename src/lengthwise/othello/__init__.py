"""Othello: random games with their legal moves, faster than they can be read from a disk."""

from lengthwise.othello.games import Games, held_out, random_games, replay
from lengthwise.othello.position import Position, perft, positions
from lengthwise.othello.shards import ShardedGames, generate, stored_games
from lengthwise.othello.transcript import from_transcript, to_transcript

__all__ = [
    "Games",
    "Position",
    "ShardedGames",
    "from_transcript",
    "generate",
    "held_out",
    "perft",
    "positions",
    "random_games",
    "replay",
    "stored_games",
    "to_transcript",
]
