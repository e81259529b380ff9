"""Recipes: all that says what a run trains, as one typed object that JSON can hold."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import nn

from lengthwise.errors import InputError, require, require_name
from lengthwise.measures import Reading, measure_by_length
from lengthwise.models import MinimalTransformer
from lengthwise.models.attention import NormPlace
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters, Trainer, build_fleet

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Recipe(Protocol):
    """What a run needs to know of what it trains. A recipe is a frozen dataclass."""

    name: ClassVar[str]

    @property
    def steps(self) -> int:
        """Training steps."""
        ...

    @property
    def train_length(self) -> int:
        """Longest input seen in training."""
        ...

    def trainer(self, members: Sequence[Hyperparameters]) -> Trainer:
        """A trainer at step 0, with one model per member."""
        ...

    def measure(self, trainer: Trainer, weights: torch.Tensor | None) -> Iterator[Reading]:
        """All measures of the trained fleet, with its own or other weights."""
        ...


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
        require_device(self.device)
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


def require_device(device: str) -> None:
    """Raise `InputError` unless tensors can be made on `device`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device = {device!r}: expected one that torch has here ({reason})"
        ) from None


RECIPES: dict[str, type[SetComplementRecipe]] = {SetComplementRecipe.name: SetComplementRecipe}


def to_json(recipe: Recipe, members: Sequence[Hyperparameters]) -> dict[str, Any]:
    """A recipe and its members as plain JSON values."""
    return {
        "task": recipe.name,
        "recipe": dataclasses.asdict(recipe),  # type: ignore[call-overload]
        "members": [dataclasses.asdict(member) for member in members],
    }


def from_json(values: dict[str, Any]) -> tuple[Recipe, tuple[Hyperparameters, ...]]:
    """The recipe and the members that `to_json` was given."""
    require_name(values["task"], RECIPES, "task")
    members = tuple(_read(Hyperparameters, member) for member in values["members"])
    return _read(RECIPES[values["task"]], values["recipe"]), members


def _read(kind: type[Any], values: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(kind)]
    for name in values:
        require_name(name, known, "field")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
