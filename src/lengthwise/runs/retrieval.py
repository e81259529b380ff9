"""How set readers are trained on argmax retrieval and dictionary lookup."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import nn

from lengthwise.errors import require, require_name
from lengthwise.measures import Reading, measure_retrieval
from lengthwise.models import SetReader
from lengthwise.models.attention import NormPlace
from lengthwise.remedies import WEIGHINGS
from lengthwise.runs.recipe import DTYPES
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetTask
from lengthwise.training import Hyperparameters, Trainer, build_fleet
from lengthwise.training.devices import require_device_name

TEST_LENGTHS = tuple(2**power for power in range(4, 15))

PLAIN_ADAM = Hyperparameters(
    learning_rate=1e-3, weight_decay=1e-3, beta2=0.999, clip=0.0, warmup=0,
    ema_powers=(), bias_powers=(),
)  # fmt: skip
"""What set readers are trained with unless told otherwise: the rates of arXiv 2410.01104, and
nothing else done to the updates."""


@dataclass(frozen=True, kw_only=True)
class RetrievalRecipe(ABC):
    """A fleet of set readers. Widths, batch and lengths are those of arXiv 2410.01104."""

    name: ClassVar[str]

    shortest: int = 5
    """Fewest items of a set in training."""

    train_length: int = 16
    """Most items of a set in training; every step draws a number from shortest to this."""

    classes: int = 10
    """Number of answers."""

    width: int = 128
    """Width of the model."""

    heads: int = 1
    """Number of heads."""

    attention: Literal["softmax", "scalable"] = "softmax"
    """Plain softmax, or scores that grow with the logarithm of the number of items."""

    norm: str = "none"
    """Norm after attention: none, layernorm, standardization, rmsnorm, layernorm-per-head,
    batchnorm."""

    norm_place: NormPlace = "after"
    """Where the norm stands: before or after the output projection."""

    residual: bool = False
    """Whether the encoded query is added to the attention output."""

    batch: int = 128
    """Sets per step."""

    steps: int = 20_000
    """Training steps."""

    test_lengths: tuple[int, ...] = TEST_LENGTHS
    """Numbers of items that are measured."""

    test_inputs: int = 8192
    """Most sets per length for the measures."""

    test_items: int = 1 << 23
    """Most items per length for the measures; long sets are fewer."""

    test_seed: int = 0
    """Seed of the test sets, which are the same for every model."""

    test_weigh: Literal["softmax", "adaptive"] = "softmax"
    """With adaptive, accuracy is measured a second time with the adaptive temperature of arXiv
    2410.01104 in the trained model."""

    dtype: Literal["float32", "float64"] = "float32"
    """Precision of training."""

    device: str = "cpu"
    """Device to train on, such as cpu or cuda."""

    def __post_init__(self) -> None:
        for field in ("batch", "steps", "test_inputs", "test_items"):
            require(getattr(self, field) >= 1, field, getattr(self, field), "at least 1")
        lengths = self.task.lengths
        expected = f"one of 1..{lengths[-1]}"
        require(self.train_length in lengths, "train_length", self.train_length, expected)
        expected = f"one of 1..train_length = {self.train_length}"
        require(1 <= self.shortest <= self.train_length, "shortest", self.shortest, expected)
        require(len(self.test_lengths) > 0, "test_lengths", self.test_lengths, "at least one")
        for length in self.test_lengths:
            expected = f"numbers of 1..{lengths[-1]}, which is all this task has"
            require(length in lengths, "test_lengths", length, expected)
        require_name(self.test_weigh, WEIGHINGS, "test_weigh")
        require_name(self.dtype, DTYPES, "dtype")
        require_device_name(self.device)
        with torch.device("meta"):
            self.model(Hyperparameters())  # says what is wrong with the model's own fields

    @property
    @abstractmethod
    def task(self) -> SetTask:
        """What is asked."""

    def model(self, member: Hyperparameters) -> nn.Module:
        """An untrained model of this recipe."""
        return SetReader(
            self.task.item_width,
            self.task.query_width,
            self.classes,
            width=self.width,
            heads=self.heads,
            attention=self.attention,
            norm=self.norm,
            norm_place=self.norm_place,
            residual=self.residual,
            dropout_weights=member.dropout_weights,
            dropout_output=member.dropout_output,
        )

    def trainer(self, members: Sequence[Hyperparameters]) -> Trainer:
        """A trainer at step 0, with one model per member."""
        for member in members:
            require(member.dropout_embedding == 0, "dropout_embedding", member.dropout_embedding,
                    "0, as a set reader embeds no tokens")  # fmt: skip
        fleet = build_fleet(self.model, members, self.device, DTYPES[self.dtype])
        return Trainer(
            fleet,
            self.task,
            members,
            train_length=self.train_length,
            shortest=self.shortest,
            batch=self.batch,
            steps=self.steps,
        )

    def measure(self, trainer: Trainer, weights: torch.Tensor | None) -> Iterator[Reading]:
        """Accuracy and what attention does, at every test length."""
        models = set_readers(trainer, weights)
        inputs = {
            length: max(1, min(self.test_inputs, self.test_items // length))
            for length in self.test_lengths
        }
        settings = (self.task, inputs, self.test_seed)
        yield from measure_retrieval(models, *settings)
        if self.test_weigh != "softmax":
            for model in models:
                model.attention.weigh = WEIGHINGS[self.test_weigh]()
            for reading in measure_retrieval(models, *settings):
                if reading.measure in ("accuracy", "entropy", "largest_weight", "right_weight"):
                    yield replace(reading, measure=f"{reading.measure}_{self.test_weigh}")


def set_readers(trainer: Trainer, weights: torch.Tensor | None = None) -> list[SetReader]:
    """The models of a trainer's fleet as modules of their own."""
    models = [trainer.fleet.model(index, weights) for index in range(trainer.fleet.size)]
    assert all(isinstance(model, SetReader) for model in models)
    return models  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class ArgmaxRetrievalRecipe(RetrievalRecipe):
    """Set readers that name the class of the item with the highest priority."""

    name: ClassVar[str] = "argmax-retrieval"

    @property
    def task(self) -> SetTask:
        """What is asked."""
        return ArgmaxRetrieval(self.classes)


@dataclass(frozen=True, kw_only=True)
class DictionaryLookupRecipe(RetrievalRecipe):
    """Set readers that name the value of the key that is asked for."""

    name: ClassVar[str] = "dictionary-lookup"

    keys: Literal["vectors", "symbols", "repeating"] = "vectors"
    """New random vectors of length 1 in every set, or symbols with a vector each, none twice in a
    set or as often as chance has it. The paper does not say; ours."""

    key_width: int = 16
    """Width of a key. Ours."""

    symbols: int = 1 << 14
    """How many symbols there are, where keys are symbols. Ours."""

    @property
    def task(self) -> SetTask:
        """What is asked."""
        return DictionaryLookup(self.classes, self.keys, self.key_width, self.symbols)
