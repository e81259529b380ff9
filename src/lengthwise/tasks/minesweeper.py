"""Minesweeper: how many mines are around every square. Two position ids for a token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require, require_name
from lengthwise.randomness import unit
from lengthwise.tasks._answers import AnswerTask
from lengthwise.tasks._base import task
from lengthwise.tasks._words import draw_words

MINE, END, CLEAR, EQUALS = range(9, 13)
"""Tokens beside the numbers 0..8 of mines."""


@task("minesweeper")
@dataclass(frozen=True)
class Minesweeper(AnswerTask):
    """A board of mines, row by row, and its solution: a mine, or the number of mines around.

    A length is the side of the board. A board's share of mines is uniform in 0.1..0.25, and each
    square has one with that chance (arXiv 2405.20671; in its code normal numbers are compared with
    that share, so that more than half of all squares have one). Boards are squares (ours): tokens
    alone do not say how wide a board is. Coupled ids are 1 + column and 1 + row, and 0 for `=`.
    """

    unit = "squares along a side"
    end = END
    defaults: ClassVar[Mapping[str, Any]] = {
        # Sides of training and the longest are those of the paper; the rest is ours.
        "model": "gpt",
        "min_train_length": 5,
        "max_train_length": 9,
        "test_lengths": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        "test_inputs": 256,
        "steps": 4000,
        "batch": 32,
        "learning_rate": 1e-3,
        "beta2": 0.95,
    }

    positions: Literal["plain", "coupled"] = "coupled"
    """Position ids that count tokens, or two for each square, its column and its row (coupled)."""

    least: float = 0.1
    """The smallest share of mines."""

    most: float = 0.25
    """The largest share of mines."""

    longest: int = 12
    """The longest side."""

    def __post_init__(self) -> None:
        require(self.longest >= 1, "longest", self.longest, "at least 1")
        require_name(self.positions, ("plain", "coupled"), "positions")
        require(0 <= self.least <= 1, "least", self.least, "a share in [0, 1]")
        expected = f"a share from least = {self.least} to 1"
        require(self.least <= self.most <= 1, "most", self.most, expected)

    @property
    def classes(self) -> int:
        """0..8, a mine and END."""
        return 11

    @property
    def vocab(self) -> int:
        """0..8, a mine, END, and in prompts a clear square and =."""
        return 13

    @property
    def token_names(self) -> tuple[str, ...]:
        """Numbers, * for a mine and - for a clear square."""
        return (*map(str, range(9)), "*", "END", "-", "=")

    @property
    def lengths(self) -> range:
        """Boards of one square or more."""
        return range(1, self.longest + 1)

    @property
    def tracks(self) -> int:
        """With coupled ids, a token has a column and a row."""
        return 2 if self.positions == "coupled" else 1

    @property
    def max_position(self) -> int:
        """As many as there are tokens, or with coupled ids one more than there are columns."""
        return 1 + self.longest if self.positions == "coupled" else self.input_size(self.longest)

    def sizes(self, length: int) -> tuple[int, int]:
        """The board and =; the board and END."""
        return length**2 + 1, length**2 + 1

    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Boards and =."""
        share, squares = (unit(words) for words in draw_words(key, count, (1, length**2)))
        mines = squares < self.least + (self.most - self.least) * share
        return functional.pad(torch.where(mines, MINE, CLEAR), (0, 1), value=EQUALS)

    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """Mines, numbers of mines around, and END."""
        mines = prompts[..., :-1] == MINE
        board = functional.pad(mines.to(torch.int8).unflatten(-1, (length, length)), (1, 1, 1, 1))
        along = board[..., :-2] + board[..., 1:-1] + board[..., 2:]
        around = (along[..., :-2, :] + along[..., 1:-1, :] + along[..., 2:, :]).flatten(-2)
        solved = around.to(torch.int64).masked_fill(mines, MINE)
        return functional.pad(solved, (0, 1), value=END)

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Column and row of every square, from 1 on; 0 and 0 for =."""
        if self.positions == "plain":
            return None
        squares = torch.arange(length**2, device=tokens.device)
        board = 1 + torch.stack([squares % length, squares // length], -1)
        ids = torch.cat([board, torch.zeros_like(board[:1]), board])
        return ids.expand(*tokens.shape, 2)
