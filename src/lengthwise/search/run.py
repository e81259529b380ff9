"""Running a search from wherever it stands to the number of trials asked for."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars

from lengthwise.errors import require
from lengthwise.search.executors import Done, Executor, LocalExecutor
from lengthwise.search.folder import SearchFolder
from lengthwise.search.packing import Chunk, pack
from lengthwise.search.records import Buffer, trial_number
from lengthwise.search.space import Space
from lengthwise.search.table import trial_table
from lengthwise.search.work import Work

OBJECTIVE = "tvd_beyond"
"""What "best" means: the least mean TVD beyond the training length, whichever the weights."""


@dataclass(frozen=True)
class Best:
    """The best trial so far."""

    trial: int
    weights: str
    value: float


@dataclass(frozen=True)
class Progress:
    """How far a search has come."""

    done: int
    """Trials recorded, those of earlier starts included."""
    trials: int
    """Trials asked for."""
    per_minute: float
    """Trials per minute since this start."""
    seconds_left: float | None
    """None until the first fleet is done."""
    best: Best | None


Report = Callable[[Progress], None]


def search(
    space: Space,
    trials: int,
    out: Path,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    report: Report = lambda progress: None,
    command: Sequence[str] = (),
) -> SearchFolder:
    """Search `space`: run the trials 0..trials-1 of `seed` that are not recorded yet in `out`.

    Args:
        space: What to search.
        trials: How many trials there shall be; more than last time extend the search.
        out: The search's folder, made if it is not there.
        seed: The search's seed.
        executor: Where to train (default: on all cores of this machine).
        report: Told of the progress about twice a second.
        command: Recorded in a new folder.
    """
    require(trials >= 1, "trials", trials, "at least 1")
    work = Work(space, seed)
    space.trial(seed, 0)  # says what is wrong with the space before anything is written
    folder = SearchFolder.create_or_open(out, space, seed, command)
    with folder.held():
        ranges = folder.ask(trials)
        recorded = folder.done()
        chunks = [
            chunk
            for numbers in ranges
            if not recorded.issuperset(numbers)
            for chunk in pack(space, seed, numbers)
            if not recorded.issuperset(chunk.trials)
        ]
        state = _State(trials, len(recorded), sum(chunk.model_steps for chunk in chunks))
        if recorded:
            state.see(folder.records())
        report(state.progress())
        if not chunks:
            return folder
        executor = executor or LocalExecutor()
        folder.log(f"{len(recorded)} of {trials} trials recorded, going on ({executor.name})")
        _run(folder, executor, work, chunks, recorded, state, report)
        folder.log(f"{trials} trials recorded: finished")
    return folder


def _run(
    folder: SearchFolder,
    executor: Executor,
    work: Work,
    chunks: list[Chunk],
    recorded: set[int],
    state: "_State",
    report: Report,
) -> None:
    writer = folder.writer()
    results = executor.run(work, chunks)
    try:
        for result in results:
            if result is not None:
                fresh = _fresh(result, recorded)
                writer.append(fresh)
                recorded.update(result.chunk.trials)
                state.add(result.chunk, fresh)
                trials = len(result.chunk.trials)
                folder.log(f"fleet of {trials}, {result.chunk.model_steps // trials} steps: done")
            report(state.progress())
    finally:
        results.close()  # type: ignore[attr-defined]
        writer.close()


def _fresh(result: Done, recorded: set[int]) -> list[bytes]:
    """The records of trials that are not recorded yet.

    A kill while a chunk was being written leaves a part of it; the chunk is trained again as a
    whole, because the same fleet gives the same numbers.
    """
    return [record for record in result.records if trial_number(record) not in recorded]


@dataclass
class _State:
    """Counts what is done, for the progress."""

    trials: int
    done: int
    work: int
    """Model-steps to do in this start."""
    began: float = field(default_factory=time.monotonic)
    worked: int = 0
    added: int = 0
    best: Best | None = None

    def add(self, chunk: Chunk, records: Sequence[Buffer]) -> None:
        self.worked += chunk.model_steps
        self.added += len(records)
        self.done += len(records)
        self.see(records)

    def see(self, records: Sequence[Buffer]) -> None:
        """Take the best of some records, if it beats the best so far."""
        found = best(trial_table(records)) if records else None
        if found and (self.best is None or found.value < self.best.value):
            self.best = found

    def progress(self) -> Progress:
        taken = max(time.monotonic() - self.began, 1e-9)
        left = taken * (self.work - self.worked) / self.worked if self.worked else None
        return Progress(self.done, self.trials, 60 * self.added / taken, left, self.best)


def best(table: polars.DataFrame) -> Best | None:
    """The row of a trial table with the least objective, among trials that did not diverge."""
    if OBJECTIVE not in table.columns:
        return None
    alive = table.filter(polars.col("diverged").is_null(), polars.col(OBJECTIVE).is_not_nan())
    if alive.is_empty():
        return None
    row = alive.sort(OBJECTIVE, "trial", maintain_order=True).row(0, named=True)
    powers = [f"{row[name]:g}" for name in ("ema_power", "bias_power") if row[name] is not None]
    return Best(row["trial"], " ".join([row["weights"], *powers]), row[OBJECTIVE])
