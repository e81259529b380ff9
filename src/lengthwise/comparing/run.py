"""Running a comparison from wherever it stands to its end."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import polars

from lengthwise.comparing.cells import Job
from lengthwise.comparing.folder import StudyFolder
from lengthwise.comparing.work import Work
from lengthwise.errors import require
from lengthwise.executors import Executor, LocalExecutor
from lengthwise.progress import Progress, Report
from lengthwise.runs.description import converted
from lengthwise.runs.version import code_version
from lengthwise.tracking import Tracking
from lengthwise.tracking.numbers import of_records

TIMED_STEPS = 6
"""Steps of the baseline on every task that tell beforehand how long all will take."""


def run(
    folder: StudyFolder,
    *,
    executor: Executor | None = None,
    report: Report = lambda progress: None,
    track: Tracking | None = None,
) -> None:
    """Train and measure all cells of a study that are not recorded yet.

    Args:
        folder: The study.
        executor: Where to train (default: on all cores of this machine).
        report: Called with the progress about twice a second.
        track: Takes the measures of every fleet that is done; whoever made it closes it.

    Raises:
        InputError: A cell failed and would fail again; what is done is kept.
    """
    with folder.locked():
        folder.gather()
        done = set(folder.records()["cell"])
        jobs = list(folder.study.jobs(done))
        state = _State(jobs, len(done & folder.study.planned()))
        report(state.progress())
        if not jobs:
            return
        _require_same_version(folder)
        executor = executor or LocalExecutor()
        folder.log(f"{state.done} of {state.total} models recorded, training ({executor.name})")
        with closing(executor.run(Work(), jobs)) as results:  # type: ignore[type-var]
            for result in results:
                if result is not None:
                    folder.add(result.content)
                    folder.log(f"{result.job}: done")
                    state.add(result.job)
                    if track is not None:
                        track.log(of_records(polars.read_parquet(result.content)), state.done)
                report(state.progress())
        folder.log(f"{state.total} models recorded: finished")


def _require_same_version(folder: StudyFolder) -> None:
    """What one version trained and what another did are not compared."""
    begun = converted(folder.description["version"], dict[str, str], "version")
    now = code_version()
    for part in ("lengthwise", "torch"):
        expected = f"{now[part]}, which is installed: its models would not be comparable"
        require(begun.get(part) == now[part], f"{part} of {folder.path}", begun.get(part), expected)


def predicted_seconds(jobs: Sequence[Job], workers: int) -> float:
    """How long jobs will take, by the time of a few steps of the baseline on each task."""
    seconds: dict[str, float] = {}
    for job in jobs:
        if job.task not in seconds:
            trainer = job.baseline.trainer(job.hyperparameters[:1])
            for number in range(TIMED_STEPS):
                if number == TIMED_STEPS // 2:  # the first ones find their memory
                    began = time.perf_counter()
                trainer.step()
            seconds[job.task] = (time.perf_counter() - began) / (TIMED_STEPS - TIMED_STEPS // 2)
    return sum(seconds[job.task] * job.model_steps for job in jobs) / workers


@dataclass
class _State:
    """Counts what is done, for the progress."""

    jobs: Sequence[Job]
    done: int
    began: float = field(default_factory=time.monotonic)
    worked: int = 0
    total: int = 0
    work: int = 0
    detail: str = ""

    def __post_init__(self) -> None:
        self.total = self.done + sum(len(job.hyperparameters) for job in self.jobs)
        self.work = sum(job.model_steps for job in self.jobs)

    def add(self, job: Job) -> None:
        self.worked += job.model_steps
        self.done += len(job.hyperparameters)
        self.detail = str(job)

    def progress(self) -> Progress:
        taken = time.monotonic() - self.began
        left = taken * (self.work - self.worked) / self.worked if self.worked else None
        return Progress("compare", self.done, self.total, "models", self.detail, "minute", left)
