"""Othello: name a legal next move of a game of which only the moves are known."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy
import torch
from torch import Tensor

from lengthwise.errors import require, require_name
from lengthwise.tasks._base import IGNORE_INDEX, Batch, TokenTask, task

# What plays games is imported where it is used: its compiler takes most of a second to load, which
# every command would wait for.

NO_MOVE = 255


@task("othello")
@dataclass(frozen=True)
class Othello(TokenTask):
    """Games of uniformly random moves; every legal move is equally right as the next one.

    An input is the first moves of a game and the answer drawn for it is the move that was played.
    Tokens are the squares that are empty at the start, from a1 row by row, and after the end of a
    game the padding, which is the last class and never right. Before the first move nothing is
    asked, as in Othello-GPT (arXiv 2210.13382).
    """

    prefixes = True
    unit = "moves"
    defaults: ClassVar[Mapping[str, Any]] = {
        "model": "gpt",
        "seeds": 1,
        "max_train_length": 29,
        "batch": 128,
        "steps": 10_000,
        "test_inputs": 1024,
        "precision": "auto",
        "compiled": "auto",
        # Rate, decay, betas, clipping and dropout are those of Othello-GPT (arXiv 2210.13382); a
        # short warm-up and then a constant rate are ours.
        "learning_rate": 5e-4,
        "weight_decay": 0.1,
        "beta2": 0.95,
        "embed_dropout": 0.1,
        "attention_dropout": 0.1,
        "resid_dropout": 0.1,
    }

    board: int = 8
    """Size of the board: 4, 6 or 8. Its games have 12, 32 or 60 moves."""

    split: Literal["train", "held-out"] = "train"
    """Which games are drawn; tests are always on held-out ones."""

    def __post_init__(self) -> None:
        require(self.board in (4, 6, 8), "board", self.board, "a size out of 4, 6, 8")
        require_name(self.split, ("train", "held-out"), "split")

    @property
    def classes(self) -> int:
        """One class per square that is empty at the start, and the padding."""
        return self.board**2 - 3

    @property
    def token_names(self) -> tuple[str, ...]:
        """Squares as in transcripts, such as f5, and the padding."""
        return (*(f"{'abcdefgh'[one % 8]}{one // 8 + 1}" for one in self._playable()), "-")

    @property
    def lengths(self) -> range:
        """1..m-1 for games of at most m moves: at least one seen, at least one to come."""
        return range(1, self.board**2 - 4)

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """The first `length + 1` moves of new games, as inputs and next moves."""
        expected = f"one of 1..{self.lengths[-1]} on a board of {self.board} x {self.board}"
        require(length in self.lengths, "length", length, expected)
        from lengthwise.othello import random_games

        moves = numpy.stack(
            [
                random_games(count, seed % 2**64, self.board, split=self.split, threads=1).moves
                for seed in key.flatten().tolist()
            ]
        )
        tokens = torch.from_numpy(self._tokens()[moves[..., : length + 1]])
        tokens = tokens.view(*key.shape, count, length + 1).to(key.device)
        labels = tokens[..., 1:]
        ended = labels == self.classes - 1
        return Batch(inputs=tokens[..., :-1], labels=labels.masked_fill(ended, IGNORE_INDEX))

    def targets(self, inputs: Tensor) -> Tensor:
        """Equal on all legal moves, zero elsewhere; zero everywhere after the end of a game."""
        from lengthwise.othello import replay

        squares = self.squares(inputs.flatten(0, -2))
        # Whatever comes next: it has to be there for the rules to say what is legal before it.
        padding = numpy.full((len(squares), 1), NO_MOVE, dtype=numpy.uint8)
        legal = replay(numpy.hstack([squares, padding]), self.board, threads=1).legal[:, 1:]
        shifts = torch.tensor(self._playable(), dtype=torch.int64)
        chosen = (torch.from_numpy(legal.view(numpy.int64)).unsqueeze(-1) >> shifts) & 1
        mass = torch.nn.functional.pad(chosen, (0, 1)).to(torch.float32)
        mass /= mass.sum(-1, keepdim=True).clamp(min=1)
        return mass.to(inputs.device).view(*inputs.shape, self.classes)

    def held_out(self) -> "Othello":
        """Games that cannot occur in training."""
        return replace(self, split="held-out")

    def squares(self, tokens: Tensor) -> numpy.ndarray:
        """Tokens as squares, 8 * row + column, with 255 for the padding."""
        table = numpy.array([*self._playable(), NO_MOVE], dtype=numpy.uint8)
        return table[tokens.cpu().numpy()]

    def tokens(self, squares: list[int]) -> Tensor:
        """The tokens of moves that are given as squares: `(moves,)`."""
        return torch.from_numpy(self._tokens()[numpy.array(squares, dtype=numpy.uint8)])

    def _playable(self) -> list[int]:
        middle = (self.board // 2 - 1, self.board // 2)
        places = itertools.product(range(self.board), repeat=2)
        return [8 * row + column for row, column in places if {row, column} - {*middle}]

    def _tokens(self) -> numpy.ndarray:
        """The token of every square, and of the padding."""
        table = numpy.full(256, self.classes - 1, dtype=numpy.int64)
        table[self._playable()] = numpy.arange(self.classes - 1)
        return table
