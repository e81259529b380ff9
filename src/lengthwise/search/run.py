"""Running a search from wherever it stands to the number of trials asked for."""

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars

from lengthwise.errors import require, require_name
from lengthwise.executors import Executor, LocalExecutor
from lengthwise.measures import MEASURES
from lengthwise.progress import Progress, Report
from lengthwise.search.folder import SearchFolder
from lengthwise.search.objective import maximised, ranked
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.space import Space, Trial
from lengthwise.search.table import read_content
from lengthwise.search.work import Work
from lengthwise.tracking import Tracking
from lengthwise.tracking.numbers import of_trials

MOST_TRIALS = 10_000_000
"""More are a typing error, and planning them would fill the memory first. Ours."""


def search(
    space: Space,
    trials: int,
    out: Path | str,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    report: Report = lambda progress: None,
    command: Sequence[str] = (),
    track: Callable[[SearchFolder], Tracking] | None = None,
) -> SearchFolder:
    """Search `space`: run the trials 0..trials-1 of `seed` that are not recorded yet in `out`.

    Args:
        space: What to search.
        trials: How many trials there shall be; more than last time extend the search.
        out: The search's folder, made if it is not there.
        seed: The search's seed.
        executor: Where to train (default: on all cores of this machine).
        report: Called with the progress about twice a second.
        command: Recorded in a new folder.
        track: Begins to track the search, once its folder is there.

    Raises:
        InputError: `trials` is no positive number, or the folder holds another search.
    """
    require(trials >= 1, "trials", trials, "at least 1")
    require(trials <= MOST_TRIALS, "trials", trials, f"at most {MOST_TRIALS}")
    work = Work(space, seed)
    # Says what is wrong with the space before anything is written.
    _require_measured(space.trial(seed, 0), space.objective)
    folder = SearchFolder.create_or_open(Path(out), space, seed, command)
    with folder.locked():
        ranges = folder.ask(trials)
        recorded = folder.done()
        chunks = [
            chunk
            for numbers in ranges
            if not recorded.issuperset(numbers)
            for chunk in pack(space, seed, numbers)
            if not recorded.issuperset(chunk.trials)
        ]
        work_left = sum(chunk.model_steps for chunk in chunks)
        state = _State(space.objective, trials, len(recorded), work_left)
        if recorded:
            state.see(folder.table())
        report(state.progress())
        if not chunks:
            return folder
        executor = executor or LocalExecutor()
        tracking = None if track is None else track(folder)
        folder.log(f"{len(recorded)} of {trials} trials recorded, resuming ({executor.name})")
        results = executor.run(work, chunks)
        try:
            for result in results:
                if result is not None:
                    folder.add(result.content)
                    folder.log(f"{result.job}: done")
                    state.add(result.job, result.content)
                    if tracking is not None:
                        found = of_trials(polars.read_parquet(result.content), state.best)
                        tracking.log(found, state.done)
                report(state.progress())
        finally:
            results.close()  # type: ignore[attr-defined]
            if tracking is not None:
                tracking.close()
        folder.log(f"{trials} trials recorded: finished")
    return folder


def _require_measured(trial: Trial, objective: str) -> None:
    """Raise `InputError` unless the objective is a measure that trials like this one will have."""
    length = trial.recipe.max_train_length
    quick = {"device": "cpu", "compiled": "no", "test_lengths": (length,), "test_inputs": 1}
    recipe = replace(trial.recipe, **quick)  # type: ignore[arg-type]
    try:
        found = {one.measure for one in recipe.measure(recipe.fleet([trial.hyperparameters]))}
    except RuntimeError:  # whatever is wrong with the model, the trial will say
        return
    part = objective.rpartition("_")[2]
    known = found | (MEASURES.keys() if "tvd" in found else set())
    if found:
        require_name(objective, [f"{name}_{part}" for name in known], "objective")


@dataclass
class _State:
    """Counts what is done, for the progress."""

    objective: str
    trials: int
    done: int
    work: int
    """Model-steps to do in this start."""
    began: float = field(default_factory=time.monotonic)
    worked: int = 0
    best: tuple[float, int] | None = None
    """The value of the best trial so far, and its number."""

    def add(self, chunk: Chunk, content: bytes) -> None:
        self.worked += chunk.model_steps
        self.done += len(chunk.trials)
        if self.objective in polars.read_parquet_schema(io.BytesIO(content)):
            self.see(read_content(content, ["trial", "diverged", self.objective]))

    def see(self, table: polars.DataFrame) -> None:
        """Take the best of some trials, if it beats the best so far."""
        best = ranked(table, self.objective).select(self.objective, "trial").head(1).rows()
        sign = -1 if maximised(self.objective) else 1
        if best and (self.best is None or sign * best[0][0] < sign * self.best[0]):
            self.best = best[0]

    def progress(self) -> Progress:
        taken = time.monotonic() - self.began
        left = taken * (self.work - self.worked) / self.worked if self.worked else None
        best = "" if self.best is None else "best {:.4f} (trial {})".format(*self.best)
        return Progress("search", self.done, self.trials, "trials", best, "minute", left)
