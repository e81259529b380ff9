"""`lengthwise train TASK`."""

import itertools
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import tyro

from lengthwise.runs import (
    ArgmaxRetrievalRecipe,
    DictionaryLookupRecipe,
    OthelloRecipe,
    Recipe,
    SetComplementRecipe,
)
from lengthwise.runs.othello import OTHELLO_ADAM
from lengthwise.runs.retrieval import PLAIN_ADAM
from lengthwise.training import Hyperparameters

LISTS = ("ema_powers", "bias_powers")
"""Hyper-parameters that are several values already: they are the same for all models."""


def _grid_field(name: str, kind: Any, default: Any, help: str) -> tuple[str, Any, Any]:
    if name not in LISTS:
        kind, default, help = tuple[kind, ...], (default,), f"{help} One value or several."
    return name, Annotated[kind, tyro.conf.arg(help=help)], field(default=default)


def _grid(name: str, defaults: Hyperparameters, left_out: tuple[str, ...] = ()) -> type[Any]:
    """A class with the fields of `Hyperparameters`, whose words are thus written down once."""
    kinds = get_type_hints(Hyperparameters)
    return make_dataclass(
        name,
        [
            _grid_field(
                item.name, kinds[item.name], getattr(defaults, item.name), item.metadata["help"]
            )
            for item in fields(Hyperparameters)
            if item.name not in ("seed", "trial", *left_out)
        ],
    )


if TYPE_CHECKING:

    @dataclass
    class Grid:
        """One or several values of every hyper-parameter."""

    RetrievalGrid = Grid
    OthelloGrid = Grid
else:
    Grid = _grid("Grid", Hyperparameters())
    # A set reader embeds no tokens.
    RetrievalGrid = _grid("RetrievalGrid", PLAIN_ADAM, left_out=("dropout_embedding",))
    OthelloGrid = _grid("OthelloGrid", OTHELLO_ADAM)


def members(grid: Grid, seeds: range) -> tuple[Hyperparameters, ...]:
    """Every combination of the grid's values, for every seed."""
    names = [item.name for item in fields(grid) if item.name not in LISTS]
    lists = {name: getattr(grid, name) for name in LISTS}
    combinations = itertools.product(*(getattr(grid, name) for name in names))
    return tuple(
        Hyperparameters(seed=seed, **dict(zip(names, values, strict=True)), **lists)
        for values in combinations
        for seed in seeds
    )


@dataclass(kw_only=True)
class Train:
    """What training any task has in common: a subclass says which recipe and which defaults."""

    recipe: Recipe
    grid: Grid

    seeds: int = 4
    """How many seeds."""

    first_seed: int = 0
    """The first of them."""

    out: Path
    """The run folder to make."""

    overwrite: bool = False
    """Replace the run that is in that folder."""

    checkpoint_seconds: float = 20.0
    """Time between checkpoints."""

    def run(self) -> int:
        """Make the run folder and train."""
        from lengthwise.cli.resume import train
        from lengthwise.cli.terminal import command_line
        from lengthwise.errors import require
        from lengthwise.runs import RunFolder

        require(self.seeds >= 1, "seeds", self.seeds, "at least 1")
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        folder = RunFolder.create(
            self.out,
            self.recipe,
            members(self.grid, seeds),
            command_line(),
            overwrite=self.overwrite,
        )
        return train(folder, self.checkpoint_seconds)


@dataclass(kw_only=True)
class TrainSetComplement(Train):
    """Train a fleet of minimal transformers on set complement, and measure it at every length.

    A hyper-parameter that is given several values makes a grid: every combination is trained, once
    per seed, all side by side. The run folder can be resumed at any time.

    Example: lengthwise train set-complement --seeds 4 --learning-rate 1e-3 3e-3 --norm layernorm
    """

    recipe: SetComplementRecipe
    grid: Grid
    out: Path = Path("runs/set-complement")


@dataclass(kw_only=True)
class TrainArgmaxRetrieval(Train):
    """Train a fleet of set readers to find the highest priority, and measure it on longer sets.

    A hyper-parameter that is given several values makes a grid: every combination is trained, once
    per seed, all side by side. The run folder can be resumed at any time.

    Example: lengthwise train argmax-retrieval --norm layernorm --seeds 2 --steps 2000 --width 64
    """

    recipe: ArgmaxRetrievalRecipe
    grid: RetrievalGrid
    out: Path = Path("runs/argmax-retrieval")


@dataclass(kw_only=True)
class TrainDictionaryLookup(Train):
    """Train a fleet of set readers to look a key up, and measure it on longer sets.

    A hyper-parameter that is given several values makes a grid: every combination is trained, once
    per seed, all side by side. The run folder can be resumed at any time.

    Example: lengthwise train dictionary-lookup --keys symbols --test-lengths 16 256 4096
    """

    recipe: DictionaryLookupRecipe
    grid: RetrievalGrid
    out: Path = Path("runs/dictionary-lookup")


@dataclass(kw_only=True)
class TrainOthello(Train):
    """Train GPTs on the first moves of random Othello games, and measure them to the games' end.

    Every step plays new games. A hyper-parameter that is given several values makes a grid: every
    combination is trained, once per seed, all side by side. Several EMA and BEMA powers are all
    measured out of the one run, which can be resumed at any time.

    Example: lengthwise train othello --board 6 --train-moves 16 --model tiny --ema-powers 0.5 0.7
    """

    recipe: OthelloRecipe
    grid: OthelloGrid
    seeds: int = 1
    """How many seeds."""
    out: Path = Path("runs/othello")
