"""Running the experiments behind claims, or resuming them, and judging the claims."""

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
from lengthwise.progress import Report
from lengthwise.runs import Interrupted, RunFolder, execute_all
from lengthwise.search import SearchFolder, search


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
    out: Path | str,
    command: Sequence[str] = (),
    report: Report = lambda progress: None,
    model: str | None = None,
) -> Reproduction:
    """Run what the claims need and is not there yet under `out`, then judge them.

    Args:
        claims: What to test; claims of one experiment share its runs.
        scale: How much to spend.
        out: Where the run folders lie; runs found there are resumed or used as they are.
        command: Recorded in every new run.
        report: Called with progress.
        model: Which model to probe instead of the experiments' own, where they probe one.
    """
    places = _places(claims, scale, Path(out))
    folders = {
        path: _folder(path, run, command)
        for experiment, place in places.items()
        for path, run in ((place / label, run) for label, run in experiment.plan(scale).items())
    }
    execute_all(list(folders), report)
    for experiment, place in places.items():
        place.mkdir(parents=True, exist_ok=True)
        if experiment.search is not None:
            _search(place / "search", experiment.search(scale), command, report)
    return reopen(claims, scale, out, model)


def reopen(
    claims: Sequence[Claim], scale: Scale, out: Path | str, model: str | None = None
) -> Reproduction:
    """Judge claims on finished runs and searches under `out`; nothing is trained.

    Args:
        claims: What to test.
        scale: The scale of the runs.
        out: Where `reproduce` put them.
        model: Which model was probed instead of the experiments' own, where they probe one.
    """
    verdicts: dict[str, Verdict] = {}
    sections = []
    folders: dict[Path, RunFolder] = {}
    for experiment, place in _places(claims, scale, Path(out)).items():
        plan = experiment.plan(scale)
        folders |= {place / label: _planned(place / label, run) for label, run in plan.items()}
        tables = {label: folders[place / label].table() for label in plan}
        searched = SearchFolder.open(place / "search") if experiment.search else None
        results = Results(scale, plan, tables, place, model, searched)
        own = [claim for claim in claims if claim.experiment is experiment]
        with _threads(experiment):
            verdicts |= {claim.name: claim.judge(results) for claim in own}
            sections.append(_section(experiment, own, results))
    ordered = tuple(verdicts[claim.name] for claim in claims)
    return Reproduction(scale, ordered, tuple(sections), tuple(folders.values()))


def _places(claims: Sequence[Claim], scale: Scale, out: Path) -> dict[Experiment, Path]:
    """The folder of each experiment."""
    by_name: dict[str, Experiment] = {}
    for one in (claim.experiment for claim in claims):
        if by_name.setdefault(one.name, one) is not one:
            raise InputError(f"experiment = {one.name!r}: expected a name that no other has")
    return {one: out / one.folder / scale for one in by_name.values()}


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
    drawings = dict.fromkeys(drawing for claim in claims for drawing in claim.drawings)
    tables = (table for claim in claims for table in claim.tables(results))
    return replace(
        section,
        pictures=(*section.pictures, *(drawing.picture(results) for drawing in drawings)),
        tables=(*section.tables, *tables),
    )


def _search(path: Path, planned: PlannedSearch, command: Sequence[str], report: Report) -> None:
    """Run the search at `path` to the number of trials that are planned."""
    settings = {"seed": planned.seed, "command": command, "report": report}
    try:
        search(planned.space, planned.trials, path, **settings)  # type: ignore[arg-type]
    except KeyboardInterrupt:
        raise Interrupted from None


def _folder(path: Path, run: PlannedRun, command: Sequence[str]) -> RunFolder:
    """The run at `path`, made if it is not there."""
    if not (path / "run.json").exists():
        return RunFolder.create(path, run.recipe, run.hyperparameters, command)
    return _planned(path, run)


def _planned(path: Path, run: PlannedRun) -> RunFolder:
    """The run at `path`; it must be the one that is planned."""
    folder = RunFolder.open(path)
    if (folder.recipe, folder.hyperparameters) != (run.recipe, run.hyperparameters):
        raise InputError(
            f"run = {str(path)!r}: holds a run with other settings than this experiment has now; "
            "remove it or choose another --out"
        )
    return folder
