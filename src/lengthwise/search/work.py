"""What a worker does with a chunk: train its fleet, measure it, give its file back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lengthwise.search.packing import Chunk
from lengthwise.search.space import Space
from lengthwise.search.table import chunk_file
from lengthwise.training import Trainer


@dataclass(frozen=True)
class Work:
    """What is the same for all chunks of a search."""

    space: Space
    seed: int

    def do(self, job: Chunk, stop: Callable[[], bool] = lambda: False) -> bytes:
        """Train and measure a chunk: see `lengthwise.executors.Work`."""
        return self.train(job.trials, stop)

    def train(self, trials: Sequence[int], stop: Callable[[], bool] = lambda: False) -> bytes:
        """Train and measure the given trials as one fleet.

        Args:
            trials: The numbers of trials that fit into one fleet.
            stop: Asked between steps; True gives the work up.

        Returns:
            The content of the chunk's Parquet file; empty if the work was given up.
        """
        drawn = [self.space.trial(self.seed, number) for number in trials]
        trainer = drawn[0].recipe.trainer([trial.hyperparameters for trial in drawn])

        def give_up(trainer: Trainer) -> None:
            if stop():
                raise _GivenUp

        try:
            trainer.run(give_up)
        except _GivenUp:
            return b""
        return chunk_file(self.space, drawn, trainer)


class _GivenUp(Exception):  # noqa: N818 - being stopped is no error
    pass
