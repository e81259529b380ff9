"""A comparison whose models train in a moment."""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from lengthwise.comparing import Study, StudyFolder, run
from lengthwise.comparing.built_in import PLANS, Scale
from lengthwise.comparing.entries import baseline_entry, parse
from lengthwise.comparing.plans import plan
from lengthwise.executors import Done, Work
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import GPTModel

MODEL = GPTModel(layers=1, heads=2, width=8, remedies=("rotary",))

TRAINING = {"max_train_length": 2, "batch": 4, "steps": 8, "test_inputs": 8}

TINY = Scale(
    model={"layers": 1, "heads": 2, "width": 8},
    training={"max_train_length": 2, "batch": 4, "steps": 8, "test_inputs": 8},
    hyperparameters=Hyperparameters(warmup=2),
    rates=(1e-3, 1e-2),
    seeds=1,
    tasks=("majority",),
    remedies=("alibi", "ema"),
    plans={name: {"steps": 8} for name in PLANS},
)
"""The quick scale, quicker."""

OWN_REMEDY = '''
"""A remedy of a test."""
from torch import Tensor
from lengthwise.remedies import Keys, Remedy, remedy

@remedy("{name}")
class Mine(Remedy):
    """Scores times {factor}."""

    def scores(self, scores: Tensor, read: Keys) -> Tensor:
        """Sharper."""
        return scores * {factor}
'''


class Inline:
    """Trains in this process."""

    name = "inline"
    workers = 1

    def __init__(self, most: int | None = None) -> None:
        """Stop after so many jobs, as a kill would."""
        self.most = most

    def run(self, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        for number, job in enumerate(jobs):
            if self.most is not None and number >= self.most:
                raise KeyboardInterrupt
            yield None
            yield Done(job, work.do(job))


def small_study(
    remedies: Sequence[str] = ("alibi", "ema"),
    tasks: Sequence[str] = ("sort", "tomita-3"),
    seeds: int = 2,
    rates: tuple[float, ...] = (1e-3, 1e-2),
) -> Study:
    settings = {"sort": {"longest": 16, "symbols": 16}}
    return Study(
        plans=tuple(plan(name, MODEL, settings.get(name, {}), **TRAINING) for name in tasks),
        entries=(baseline_entry(MODEL), *(parse(one, MODEL) for one in remedies)),
        rates=rates,
        seeds=seeds,
        hyperparameters=Hyperparameters(warmup=2),
        scale="quick",
    )


def trained(path: Path, study: Study, most: int | None = None) -> StudyFolder:
    """A study's folder with all that is asked for, or so many jobs more."""
    folder = StudyFolder.create_or_open(path, study, ["lengthwise", "compare"])
    run(folder, executor=Inline(most))
    return folder


def own_remedy(folder: Path, name: str = "mine", factor: float = 2.0) -> Path:
    path = folder / "own_remedy.py"
    path.write_text(OWN_REMEDY.format(name=name, factor=factor))
    return path
