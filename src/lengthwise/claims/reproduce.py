"""Running the experiments behind claims, or going on with them, and judging the claims."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from lengthwise.claims._base import (
    Claim,
    Experiment,
    Picture,
    PlannedRun,
    PlannedSearch,
    Results,
    Scale,
    Section,
    Table,
    Verdict,
)
from lengthwise.errors import InputError
from lengthwise.runs import Interrupted, Progress, RunFolder, execute_all
from lengthwise.runs.execute import Report
from lengthwise.search import SearchFolder, search
from lengthwise.search.run import Progress as SearchProgress


@dataclass(frozen=True)
class Reproduction:
    """All that came out of testing some claims at one scale."""

    scale: Scale
    verdicts: tuple[Verdict, ...]
    sections: tuple[Section, ...]
    """One per experiment."""
    folders: tuple[RunFolder, ...]

    @property
    def pictures(self) -> list[Picture]:
        """The pictures of all sections, in the order of the page."""
        return [picture for section in self.sections for picture in section.pictures]

    @property
    def tables(self) -> list[Table]:
        """The tables of all sections, in the order of the page."""
        return [table for section in self.sections for table in section.tables]


def reproduce(
    claims: Sequence[Claim],
    scale: Scale,
    out: Path,
    command: Sequence[str],
    report: Report,
    model: str | None = None,
) -> Reproduction:
    """Run what the claims need and is not there yet under `out`, then judge them.

    Args:
        claims: What to test; claims of one experiment share its runs.
        scale: How much to spend.
        out: Where the run folders lie; runs found there are resumed or used as they are.
        command: Recorded in every new run.
        report: Told of the progress.
        model: Which model to probe instead of the experiments' own, where they probe one.
    """
    experiments = {claim.experiment.name: claim.experiment for claim in claims}
    plans = {name: experiment.plan(scale) for name, experiment in experiments.items()}
    places = {
        name: out / (experiment.shelf or name) / scale for name, experiment in experiments.items()
    }
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    folders = {
        (name, label): _folder(places[name] / label, run, command)
        for name, plan in plans.items()
        for label, run in plan.items()
    }
    execute_all(list(dict.fromkeys(folder.path for folder in folders.values())), report)
    searches = {
        name: _searched(places[name] / "search", experiment.search(scale), command, report)
        for name, experiment in experiments.items()
        if experiment.search is not None
    }
    results = {
        name: Results(
            scale,
            plan,
            {label: folders[name, label].table() for label in plan},
            places[name],
            model,
            searches.get(name),
        )
        for name, plan in plans.items()
    }
    verdicts: dict[str, Verdict] = {}
    sections = []
    for name, result in results.items():
        own = [claim for claim in claims if claim.experiment.name == name]
        with _threads(experiments[name]):
            verdicts |= {claim.name: claim.judge(result) for claim in own}
            sections.append(_section(experiments[name], own, result))
    return Reproduction(
        scale,
        tuple(verdicts[claim.name] for claim in claims),
        tuple(sections),
        tuple({folder.path: folder for folder in folders.values()}.values()),
    )


@contextmanager
def _threads(experiment: Experiment) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(before if experiment.large else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _section(experiment: Experiment, claims: Sequence[Claim], results: Results) -> Section:
    section = experiment.section(results)
    pictures = (picture for claim in claims for picture in claim.pictures(results))
    tables = (table for claim in claims for table in claim.tables(results))
    return replace(
        section,
        pictures=(*section.pictures, *pictures),
        tables=(*section.tables, *tables),
    )


def _searched(
    path: Path, planned: PlannedSearch, command: Sequence[str], report: Report
) -> SearchFolder:
    """The search at `path`, run to the number of trials that are planned."""

    def pass_on(progress: SearchProgress) -> None:
        report(Progress("search (trials)", progress.done, progress.trials, float("nan"), 0))

    try:
        return search(
            planned.space, planned.trials, path, seed=planned.seed, command=command, report=pass_on
        )
    except KeyboardInterrupt:
        raise Interrupted from None


def _folder(path: Path, run: PlannedRun, command: Sequence[str]) -> RunFolder:
    """The run at `path`, made if it is not there; it must be the one that is planned."""
    if not (path / "run.json").exists():
        return RunFolder.create(path, run.recipe, run.members, command)
    folder = RunFolder.open(path)
    if (folder.recipe, folder.members) != (run.recipe, run.members):
        raise InputError(
            f"run = {str(path)!r}: holds a run with other settings than this experiment has now; "
            "remove it or choose another --out"
        )
    return folder
