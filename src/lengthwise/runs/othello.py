"""How GPTs are trained on the first moves of Othello games."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
import tyro  # the command line calls `size` --model; here that is a method
from torch import nn

from lengthwise.errors import require, require_name
from lengthwise.measures import Reading, measure_by_length
from lengthwise.models import GPT
from lengthwise.models.attention import NormPlace
from lengthwise.models.gpt import SIZES, Size
from lengthwise.tasks import Othello
from lengthwise.training import Hyperparameters, Trainer, build_fleet
from lengthwise.training.devices import require_device_name

OTHELLO_ADAM = Hyperparameters(
    learning_rate=5e-4, weight_decay=0.1, beta2=0.95, clip=1.0,
    dropout_embedding=0.1, dropout_weights=0.1, dropout_output=0.1,
)  # fmt: skip
"""Rate, decay, betas, clipping and dropout are those of Othello-GPT (arXiv 2210.13382); a short
warm-up and then a constant rate are ours."""

Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class OthelloRecipe:
    """A fleet of GPTs on Othello. The original size is Othello-GPT's; other defaults are ours."""

    name: ClassVar[str] = "othello"

    board: int = 8
    """Size of the board: 4, 6 or 8."""

    train_moves: int = 30
    """How many moves of a game are seen in training. Tests go to the end of the games."""

    size: Annotated[Literal["original", "small", "tiny"], tyro.conf.arg(name="model")] = "small"
    """Size of the model: original (8 layers, 8 heads, width 512), small (4, 4, 128) or tiny
    (2, 4, 64)."""

    layers: int | None = None
    """Number of layers, if not that of the model's size."""

    heads: int | None = None
    """Number of heads, if not that of the model's size."""

    width: int | None = None
    """Width, if not that of the model's size."""

    positions: Literal["learned", "offset", "none", "sinusoidal", "rotary"] = "learned"
    """How the model knows the order of moves. Learned vectors of positions that training does not
    reach stay random; with offset they are all trained, as sequences begin at random positions."""

    attention: Literal["softmax", "scalable"] = "softmax"
    """Plain softmax, or scores that grow with the logarithm of the number of moves."""

    norm: str = "none"
    """Norm after attention: none, layernorm, standardization, rmsnorm, layernorm-per-head."""

    norm_place: NormPlace = "after"
    """Where the norm stands: before or after the output projection."""

    batch: int = 128
    """Games per step; all are new."""

    accumulate: int = 1
    """In how many parts a batch goes through the model, where memory is short."""

    steps: int = 10_000
    """Training steps."""

    test_inputs: int = 1024
    """Games for the measures, none of which can occur in training."""

    test_seed: int = 0
    """Seed of the test games, which are the same for every model."""

    precision: Precision = "auto"
    """Precision of matrix products in training; weights are float32. Auto: bfloat16 on a GPU that
    has it, float32 on a CPU, though one with bfloat16 instructions gains from it."""

    compiled: Literal["auto", "yes", "no"] = "auto"
    """Whether training goes through torch.compile. Auto: on a GPU."""

    device: str = "cpu"
    """Device to train on, such as cpu or cuda."""

    def __post_init__(self) -> None:
        games = Othello(self.board)
        expected = f"2..{games.classes - 1}, as a game on this board has at most that many moves"
        require(self.train_length in games.lengths, "train_moves", self.train_moves, expected)
        for field in ("batch", "accumulate", "steps", "test_inputs"):
            require(getattr(self, field) >= 1, field, getattr(self, field), "at least 1")
        expected = f"a divisor of batch = {self.batch}"
        require(self.batch % self.accumulate == 0, "accumulate", self.accumulate, expected)
        require_name(self.size, SIZES, "model")
        require_name(self.precision, ("auto", "float32", "bfloat16"), "precision")
        require_name(self.compiled, ("auto", "yes", "no"), "compiled")
        require_device_name(self.device)
        with torch.device("meta"):
            self.model(Hyperparameters())  # says what is wrong with the model's own fields

    @property
    def train_length(self) -> int:
        """Most moves that are read in training: the last move of a game is only an answer."""
        return self.train_moves - 1

    def model(self, member: Hyperparameters) -> nn.Module:
        """An untrained model of this recipe."""
        games = Othello(self.board)
        preset = SIZES[self.size]
        own = (self.layers, self.heads, self.width)
        return GPT(
            games.classes,
            games.lengths[-1],
            Size(*(kept if mine is None else mine for mine, kept in zip(own, preset, strict=True))),
            positions=self.positions,
            attention=self.attention,
            norm=self.norm,
            norm_place=self.norm_place,
            dropout_embedding=member.dropout_embedding,
            dropout_weights=member.dropout_weights,
            dropout_output=member.dropout_output,
        )

    def trainer(self, members: Sequence[Hyperparameters]) -> Trainer:
        """A trainer at step 0, with one model per member."""
        fleet = build_fleet(
            self.model,
            members,
            self.device,
            autocast=torch.bfloat16 if self._half() else None,
            compiled=self._compile(),
        )
        return Trainer(
            fleet,
            Othello(self.board),
            members,
            train_length=self.train_length,
            batch=self.batch,
            steps=self.steps,
            accumulate=self.accumulate,
        )

    def _half(self) -> bool:
        if self.precision != "auto":
            return self.precision == "bfloat16"
        return self._on_gpu() and torch.cuda.is_bf16_supported(including_emulation=False)

    def _compile(self) -> bool:
        compilers = (os.environ.get("CXX"), "g++", "clang++", "c++")
        possible = any(name and shutil.which(name) for name in compilers)
        if self.compiled == "yes":
            expected = "'no' or 'auto', as there is no C++ compiler here, which torch.compile needs"
            require(possible, "compiled", self.compiled, expected)
        return self.compiled == "yes" or (self.compiled == "auto" and self._on_gpu() and possible)

    def _on_gpu(self) -> bool:
        return torch.device(self.device).type == "cuda"

    def measure(self, trainer: Trainer, weights: torch.Tensor | None) -> Iterator[Reading]:
        """All measures after every number of moves, on games that are held out."""
        games = Othello(self.board, split="held-out")
        return measure_by_length(trainer.fleet, games, self.test_inputs, self.test_seed, weights)
