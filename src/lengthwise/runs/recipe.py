"""What a recipe is: all that says what a run trains, as one typed object that JSON can hold."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

import torch

from lengthwise.measures import Reading
from lengthwise.training import Hyperparameters, Trainer

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Recipe(Protocol):
    """What a run needs to know of what it trains. A recipe is a frozen dataclass."""

    name: ClassVar[str]

    @property
    def steps(self) -> int:
        """Training steps."""
        ...

    @property
    def device(self) -> str:
        """Device to train on, such as cpu or cuda."""
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
