"""What a worker does with a chunk: train its fleet, measure it, give the records back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lengthwise.search.records import records
from lengthwise.search.space import Space


class Abandoned(Exception):  # noqa: N818 - nobody waits for the work any more
    """The work was given up, because whoever asked for it is gone."""


@dataclass(frozen=True)
class Work:
    """What is the same for all chunks of a search."""

    space: Space
    seed: int

    def do(self, trials: Sequence[int], abandon: Callable[[], bool] = lambda: False) -> list[bytes]:
        """Train and measure the given trials as one fleet; one record each.

        Args:
            trials: The numbers of trials that fit into one fleet.
            abandon: Asked between steps; True raises `Abandoned`.
        """
        drawn = [self.space.trial(self.seed, number) for number in trials]
        trainer = drawn[0].recipe.trainer([trial.member for trial in drawn])
        while trainer.step < trainer.steps:
            if abandon():
                raise Abandoned
            trainer.advance()
        return records(trainer, drawn)
