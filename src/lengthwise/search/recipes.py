"""What can be searched: recipes that build one model at a time, the user's own among them."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.measures import Reading, measure_by_length
from lengthwise.runs import Recipe, SetComplementRecipe
from lengthwise.tasks import SequenceTask
from lengthwise.training import Hyperparameters, Trainer, build_fleet


class SearchRecipe(Recipe, Protocol):
    """A recipe that can build a single model, so that a search can see how large it is."""

    def model(self, member: Hyperparameters) -> nn.Module:
        """An untrained model."""
        ...


def pack_key(recipe: SearchRecipe, member: Hyperparameters) -> Hashable:
    """Models whose keys differ are better off in fleets of their own: what the recipe says."""
    ask = getattr(recipe, "pack_key", None)
    if ask is not None:
        return ask(member)
    if isinstance(recipe, SetComplementRecipe):
        # Without a dropout that treats every place on its own there is a faster way through the
        # model, which is lost in a fleet with one that has it: see `MinimalTransformer`.
        return bool(member.dropout_embedding or member.dropout_weights)
    return None


@dataclass(frozen=True)
class ModuleRecipe(ABC):
    """A recipe for one's own module: a subclass says which task, and builds the model.

    The subclass is a frozen dataclass too. Its fields are what can be searched and makes the shape
    of a model, such as a width; what each model of a fleet has for itself comes with the member.
    """

    name: ClassVar[str] = "module"
    task: ClassVar[SequenceTask]

    train_length: int = 8
    """Longest input seen in training; every prefix counts."""

    batch: int = 32
    """Inputs per step."""

    steps: int = 1000
    """Training steps."""

    test_inputs: int = 512
    """Inputs per length for the measures; all of them where there are no more than that."""

    test_seed: int = 0
    """Seed of the test inputs, which are the same for every model."""

    device: str = "cpu"
    """Device to train on, such as cpu or cuda."""

    def __post_init__(self) -> None:
        expected = f"one of 1..{self.task.lengths[-1]}"
        require(self.train_length in self.task.lengths, "train_length", self.train_length, expected)
        for field in ("batch", "steps", "test_inputs"):
            require(getattr(self, field) >= 1, field, getattr(self, field), "at least 1")

    @abstractmethod
    def model(self, member: Hyperparameters) -> nn.Module:
        """An untrained model: tokens `(batch, length)` to logits `(batch, length, classes)`."""

    def trainer(self, members: Sequence[Hyperparameters]) -> Trainer:
        """A trainer at step 0, with one model per member."""
        return Trainer(
            build_fleet(self.model, members, self.device),
            self.task,
            members,
            train_length=self.train_length,
            batch=self.batch,
            steps=self.steps,
        )

    def measure(self, trainer: Trainer, weights: Tensor | None) -> Iterator[Reading]:
        """All measures at every length of the task."""
        inputs, seed = self.test_inputs, self.test_seed
        return measure_by_length(trainer.fleet, self.task, inputs, seed, weights)
