"""Running the experiments behind claims, or resuming them, and judging the claims."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
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
from lengthwise.claims.fleets import fleets, joined, planned_seeds
from lengthwise.claims.statistics import levels
from lengthwise.errors import InputError, require
from lengthwise.progress import Report
from lengthwise.runs import Interrupted, RunFolder, execute_all
from lengthwise.search import SearchFolder, search


@dataclass(frozen=True)
class Reproduction:
    """All that came out of testing some claims at one scale."""

    scale: Scale
    """At which scale."""
    verdicts: tuple[Verdict, ...]
    """A verdict per claim."""
    sections: tuple[Section, ...]
    """One per experiment."""
    folders: tuple[RunFolder, ...]
    """The runs that they rest on."""

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
    seeds: int | None = None,
    first_seed: int | None = None,
) -> Reproduction:
    """Run what the claims need and is not there yet under `out`, then judge them.

    Several processes may do so at once: each trains what no other one does.

    Args:
        claims: What to test; claims of one experiment share its runs.
        scale: How much to spend.
        out: Where the run folders lie; runs found there are resumed or used as they are.
        command: Recorded in every new run.
        report: Called with progress.
        model: Which model to probe instead of the experiments' own, where they probe one.
        seeds: How many paired seeds to have instead of those that are planned; those that are there
            are kept, and so are the fleets they were trained in.
        first_seed: Where they begin, if not where it is planned.

    Raises:
        InputError: A run that is there is of another scale or recipe, or a claim rests on no seeds,
            or its plan does not look at so many.
    """
    places = _places(claims, scale, Path(out))
    wanted: dict[Path, PlannedRun] = {}
    for experiment, place in places.items():
        for parts in _fleets(experiment, scale, place, seeds, first_seed).values():
            wanted |= parts
    stages = _stages(wanted)
    for path, run in wanted.items():  # what is wrong is said before anything is trained
        if (path / "run.json").exists():
            _planned(path, run)
    for stage in stages:
        # Fleets of the same seeds one after the other, so that what is there early is paired.
        stage.sort(key=lambda path: wanted[path].hyperparameters[0].seed)
        execute_all([_folder(path, wanted[path], command).path for path in stage], report)
    for experiment, place in places.items():
        place.mkdir(parents=True, exist_ok=True)
        if experiment.search is not None:
            _search(place / "search", experiment.search(scale), command, report)
    return reopen(claims, scale, out, model, seeds, first_seed)


def reopen(
    claims: Sequence[Claim],
    scale: Scale,
    out: Path | str,
    model: str | None = None,
    seeds: int | None = None,
    first_seed: int | None = None,
) -> Reproduction:
    """Judge claims on finished runs and searches under `out`; nothing is trained.

    Args:
        claims: What to test.
        scale: The scale of the runs.
        out: Where `reproduce` put them.
        model: Which model was probed instead of the experiments' own, where they probe one.
        seeds: How many paired seeds to read instead of those that are planned.
        first_seed: Where they begin, if not where it is planned.
    """
    verdicts: dict[str, Verdict] = {}
    sections = []
    folders: dict[Path, RunFolder] = {}
    for experiment, place in _places(claims, scale, Path(out)).items():
        plan: dict[str, PlannedRun] = {}
        tables, paths, on_the_way = {}, {}, {}
        planned_runs = experiment.plan(scale)
        for label, parts in _fleets(experiment, scale, place, seeds, first_seed).items():
            opened = {path: _planned(path, part) for path, part in parts.items()}
            folders |= opened
            paths[label] = list(opened)
            wanted = planned_seeds(planned_runs[label], seeds, first_seed)
            planned = list(parts.values())
            whole = [folder.table() for folder in opened.values()]
            plan[label], tables[label] = joined(planned, whole, wanted)
            early = [folder.tables_at() for folder in opened.values()]
            on_the_way[label] = {
                step: joined(planned, [one[step] for one in early], wanted)[1]
                for step in planned[0].recipe.test_steps
            }
        searched = SearchFolder.open(place / "search") if experiment.search else None
        level = _level(experiment, scale, seeds)
        results = Results(scale, plan, tables, place, model, searched, paths, on_the_way, level)
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


def _fleets(
    experiment: Experiment, scale: Scale, place: Path, seeds: int | None, first_seed: int | None
) -> dict[str, dict[Path, PlannedRun]]:
    """The fleets of every run by their folders.

    A run that starts from another one of the plan does so fleet by fleet, and knows where it lies.
    """
    _require_seeds(experiment, scale, seeds, first_seed)
    plan = experiment.plan(scale)
    found: dict[str, dict[Path, PlannedRun]] = {}
    for label, run in plan.items():
        start, found[label] = run.recipe.start_from, {}
        for name, part in fleets(label, run, seeds, first_seed).items():
            placed = part
            if start in plan:
                path = place / f"{start}{name.removeprefix(label)}"
                placed = replace(part, recipe=replace(part.recipe, start_from=str(path)))
            found[label][place / name] = placed
    return found


def _stages(runs: Mapping[Path, PlannedRun]) -> list[list[Path]]:
    """The runs in their order: one that starts from another waits until that is finished."""
    stages: list[list[Path]] = []
    waiting = dict(runs)
    while waiting:
        starts = {path: run.recipe.start_from for path, run in waiting.items()}
        ready = [path for path, start in starts.items() if not start or Path(start) not in waiting]
        expected = "one that does not start, by way of others, from itself"
        require(bool(ready), "start_from", next(iter(starts.values())), expected)
        stages.append(ready)
        waiting = {path: run for path, run in waiting.items() if path not in ready}
    return stages


def _require_seeds(
    experiment: Experiment, scale: Scale, seeds: int | None, first_seed: int | None
) -> None:
    """Refuse other seeds where there are none, and a look that is not planned."""
    runs = experiment.plan(scale)
    for name, value in (("seeds", seeds), ("first_seed", first_seed)):
        expected = f"none, as experiment {experiment.name!r} trains no runs"
        require(value is None or bool(runs), name, value, expected)
    looks = experiment.looks(scale)
    if seeds is not None and looks:
        expected = f"one of {', '.join(map(str, looks))}, the looks that are planned"
        require(seeds in looks, "seeds", seeds, expected)


def _level(experiment: Experiment, scale: Scale, seeds: int | None) -> float:
    """One minus the level of the intervals at this number of seeds."""
    looks = tuple(experiment.looks(scale))
    if not looks:
        return 0.05
    run = next(iter(experiment.plan(scale).values()))
    return levels(looks)[looks.index(len(planned_seeds(run, seeds)))]


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
        try:
            return RunFolder.create(path, run.recipe, run.hyperparameters, command)
        except InputError:
            if not (path / "run.json").exists():  # or another process has made it meanwhile
                raise
    return _planned(path, run)


def _planned(path: Path, run: PlannedRun) -> RunFolder:
    """The run at `path`; it must be the one that is planned."""
    folder = RunFolder.open(path)
    found, planned = folder.recipe, run.recipe
    if found.start_from and planned.start_from == str(path.parent / Path(found.start_from).name):
        found = replace(found, start_from=planned.start_from)  # both were moved together
    if (found, folder.hyperparameters) != (planned, run.hyperparameters):
        raise InputError(
            f"run = {str(path)!r}: holds a run with other settings than this experiment has now "
            f"({_difference(folder, run)}); remove it or choose another --out"
        )
    return folder


def _difference(folder: RunFolder, run: PlannedRun) -> str:
    """The first thing in which a run differs from the planned one, in words."""
    for name in [field.name for field in fields(run.recipe)]:
        there, planned = getattr(folder.recipe, name), getattr(run.recipe, name)
        if there != planned:
            return f"{name} = {there} there, {planned} planned"
    return "other seeds or hyper-parameters there"
