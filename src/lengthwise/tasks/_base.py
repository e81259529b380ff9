"""What every task offers."""

from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor


class Batch(NamedTuple):
    """Examples of one length, with any leading shape the key had."""

    inputs: Tensor
    """What the model reads: `(..., count, length)`."""

    drawn: Tensor
    """The answer that was drawn after each prefix: `(..., count, length)`."""


@runtime_checkable
class Task(Protocol):
    """Draws examples of a given length and knows the exact target distribution of each.

    A task is a frozen dataclass: its fields say all about it.
    """

    @property
    def name(self) -> str:
        """The name by which the command line and run folders know the task."""
        ...

    @property
    def classes(self) -> int:
        """Over how many answers the target is a distribution."""
        ...

    @property
    def lengths(self) -> range:
        """All lengths that exist."""
        ...

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Draw `count` examples of `length` from each stream of `key`.

        Example i of a stream depends on the stream and on i only, not on `count`.
        """
        ...

    def targets(self, inputs: Tensor) -> Tensor:
        """The exact target distribution after every prefix: `(*inputs.shape, classes)`."""
        ...

    def enumerate_inputs(self, length: int, limit: int) -> Tensor | None:
        """All inputs of `length`, equally likely, or None where they are more than `limit`."""
        ...
