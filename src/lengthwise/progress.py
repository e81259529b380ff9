"""How far something has come, in one record for all that takes a while."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Progress:
    """How far a run, a search or anything else has come. Speed is up to whoever shows it."""

    name: str
    done: int
    total: int
    unit: str = "steps"
    """What is counted."""
    detail: str = ""
    """Anything else worth showing."""
    per: Literal["second", "minute"] = "second"
    """In which unit the speed is a number of a few digits."""
    seconds_left: float | None = None
    """Where it is known better than by `done` and `total`."""


Report = Callable[[Progress], None]
