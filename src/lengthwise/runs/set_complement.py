"""How minimal transformers are trained on set complement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import nn

from lengthwise.errors import require, require_name
from lengthwise.measures import Reading, measure_by_length
from lengthwise.models import MinimalTransformer
from lengthwise.models.attention import NormPlace
from lengthwise.runs.recipe import DTYPES
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters, Trainer, build_fleet
from lengthwise.training.devices import require_device_name


@dataclass(frozen=True)
class SetComplementRecipe:
    """A fleet of minimal transformers on set complement. All defaults are ours."""

    name: ClassVar[str] = "set-complement"

    vocab: int = 16
    """Number of tokens."""

    train_length: int = 8
    """Longest input seen in training; every prefix counts."""

    extra: int = 5
    """Width beyond vocab - 1, the least that Theorem 4.2 allows."""

    attention: Literal["softmax", "constant"] = "softmax"
    """Softmax attention, or the same weight on every token."""

    norm: str = "none"
    """Norm after attention: none, layernorm, standardization, rmsnorm."""

    norm_place: NormPlace = "after"
    """Where the norm stands: before or after the output projection."""

    pre_norm: bool = True
    """Whether attention reads the embedding through a LayerNorm."""

    key_width: int | None = None
    """Width of queries and keys; the model's width if not given."""

    value_width: int | None = None
    """Width of the values; the model's width if not given."""

    batch: int = 32
    """Inputs per step."""

    steps: int = 8000
    """Training steps."""

    test_inputs: int = 2048
    """Inputs per length for the measures; all of them where there are no more than that."""

    test_seed: int = 0
    """Seed of the test inputs, which are the same for every model."""

    dtype: Literal["float32", "float64"] = "float32"
    """Precision of training."""

    device: str = "cpu"
    """Device to train on, such as cpu or cuda."""

    def __post_init__(self) -> None:
        task = SetComplement(self.vocab)
        expected = f"less than vocab = {self.vocab} and at least 1"
        require(self.train_length in task.lengths, "train_length", self.train_length, expected)
        for field in ("batch", "steps", "test_inputs"):
            require(getattr(self, field) >= 1, field, getattr(self, field), "at least 1")
        require_name(self.dtype, DTYPES, "dtype")
        require_device_name(self.device)
        with torch.device("meta"):
            self.model(Hyperparameters())  # says what is wrong with the model's own fields

    def model(self, member: Hyperparameters) -> nn.Module:
        """An untrained model of this recipe."""
        return MinimalTransformer(
            self.vocab,
            self.extra,
            self.attention,
            key_width=self.key_width,
            value_width=self.value_width,
            pre_norm=self.pre_norm,
            norm=self.norm,
            norm_place=self.norm_place,
            dropout_embedding=member.dropout_embedding,
            dropout_weights=member.dropout_weights,
            dropout_output=member.dropout_output,
        )

    def trainer(self, members: Sequence[Hyperparameters]) -> Trainer:
        """A trainer at step 0, with one model per member."""
        fleet = build_fleet(self.model, members, self.device, DTYPES[self.dtype])
        return Trainer(
            fleet,
            SetComplement(self.vocab),
            members,
            train_length=self.train_length,
            batch=self.batch,
            steps=self.steps,
        )

    def measure(self, trainer: Trainer, weights: torch.Tensor | None) -> Iterator[Reading]:
        """All measures at every length 1..vocab-1."""
        task = SetComplement(self.vocab)
        return measure_by_length(trainer.fleet, task, self.test_inputs, self.test_seed, weights)
