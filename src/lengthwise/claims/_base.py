"""Claims: sentences from a paper, the experiments that test them, and the verdicts."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import polars

from lengthwise.claims.statistics import Estimate
from lengthwise.report.style import Figure, as_svg, house_style
from lengthwise.runs import Recipe
from lengthwise.search import SearchFolder, Space
from lengthwise.training import Hyperparameters

P = ParamSpec("P")
T = TypeVar("T")

Scale = Literal["quick", "laptop", "paper"]
"""How large an experiment is."""
Outcome = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class PlannedRun:
    """Models that an experiment trains: a fleet, and maybe more like it with the seeds after."""

    recipe: Recipe
    """Its `start_from` may be the label of another run of the plan, which is then trained first."""
    hyperparameters: tuple[Hyperparameters, ...]
    """One per model of the first fleet; in results, one per model of all."""
    fleets: int = 1
    """How many fleets there are, where nobody asks for another number of seeds."""


@dataclass(frozen=True)
class PlannedSearch:
    """The search that an experiment rests on."""

    space: Space
    """What is searched."""
    trials: int
    """How many trials."""
    seed: int = 0
    """Seed of the trials."""


@dataclass(frozen=True)
class Results:
    """What an experiment gave: its plan, a table of measures per run, and its search."""

    scale: Scale
    """At which scale."""
    plan: Mapping[str, PlannedRun]
    """The runs by label."""
    tables: Mapping[str, polars.DataFrame]
    """The table of each run by label."""
    folder: Path
    """Where the experiment keeps its files; each run lies in a folder of its label."""
    model: str | None = None
    """Which model to probe instead of the experiment's own, where it probes one."""
    search: SearchFolder | None = None
    """The experiment's search, if it has one."""
    parts: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """The folders of each run, one per fleet."""
    on_the_way: Mapping[str, Mapping[int, polars.DataFrame]] = field(default_factory=dict)
    """What each run measured on the way, by step."""
    level: float = 0.05
    """One minus the level of every interval: less where a plan looks at its seeds several times."""
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    """What functions marked with `once` have computed."""

    def folders(self, label: str) -> Sequence[Path]:
        """The folders of a run.

        Args:
            label: The label of a run in the plan.
        """
        return self.parts.get(label, (self.folder / label,))

    @property
    def recipe(self) -> Recipe:
        """The recipe of the first run; what the others differ in is the experiment's to know."""
        return next(iter(self.plan.values())).recipe


def once(compute: Callable[Concatenate[Results, P], T]) -> Callable[Concatenate[Results, P], T]:
    """Compute a function of results once: findings, figures and tables of a page share it.

    What it gives is kept with the results and goes with them.

    Args:
        compute: A function of results and of things that can be hashed.
    """

    @wraps(compute)
    def kept(results: Results, *arguments: P.args, **named: P.kwargs) -> T:
        key = (compute, arguments, *sorted(named.items()))
        if key not in results.kept:
            results.kept[key] = compute(results, *arguments, **named)
        found: T = results.kept[key]
        return found

    return kept


@dataclass(frozen=True)
class Picture:
    """A figure with its words."""

    name: str
    """Such as `figure-3`: also the name of its file."""
    svg: str
    """The picture as an `<svg>` element."""
    caption: str
    """What stands below it."""
    alt: str
    """What it shows, for who cannot see it."""


@dataclass(frozen=True)
class Drawing:
    """How to draw a figure out of results, and its words."""

    name: str
    """The name of its file."""
    draw: Callable[[Results], Figure]
    """Draws it out of results."""
    caption: str
    """What stands below it."""
    alt: str
    """What it shows, for those who do not see it."""

    def __call__(self, results: Results) -> Figure:
        """The figure."""
        with house_style():
            return self.draw(results)

    def picture(self, results: Results) -> Picture:
        """The figure with its words.

        Args:
            results: What its experiment gave.
        """
        return Picture(self.name, as_svg(self(results)), self.caption, self.alt)


def drawing(name: str, caption: str, alt: str) -> Callable[[Callable[[Results], Figure]], Drawing]:
    """Make a drawing of the function below: `@drawing("figure-3", "Caption.", "What it shows")`.

    Args:
        name: The name of the picture's file.
        caption: What stands below it.
        alt: What it shows, for who cannot see it.
    """
    return lambda draw: Drawing(name, draw, caption, alt)


@dataclass(frozen=True)
class Table:
    """Numbers as a reader wants them, cell by cell; the first column names the rows."""

    name: str
    """Such as `accuracy`: also the name of its file."""
    caption: str
    """What it holds."""
    columns: Sequence[str]
    """The heads of its columns."""
    rows: Sequence[Sequence[str]]
    """Its cells, row by row."""
    shown: bool = True
    """Whether it stands on the page, or is only written as a file beside it."""

    @classmethod
    def of_frame(cls, name: str, caption: str, frame: polars.DataFrame) -> "Table":
        """A table too long for a page: numbers to compute with, to six digits.

        Args:
            name: The name of its CSV file.
            caption: What it holds.
            frame: The numbers.
        """
        rounded = frame.with_columns(polars.selectors.float().round_sig_figs(6))
        cells = rounded.cast(polars.String)
        return cls(name, caption, frame.columns, cells.fill_null("").rows(), shown=False)


@dataclass(frozen=True)
class Section:
    """What a report says about one experiment."""

    title: str
    """Its heading."""
    introduction: str
    """What stands above its pictures."""
    pictures: Sequence[Picture]
    """Its figures, in order."""
    notes: Sequence[str]
    """What a reader must know to judge the numbers, such as which values are ours."""
    tables: Sequence[Table] = ()
    """Its tables, in order."""


@dataclass(frozen=True)
class Experiment:
    """What several claims rest on: runs to train, a search, or nothing but computation."""

    name: str
    """The name of its results' folder."""
    plan: Callable[[Scale], dict[str, PlannedRun]]
    """The runs by label, at a scale; empty where the evidence is computed without training."""
    section: Callable[[Results], Section]
    """Its part of the report."""
    shared_runs: str | None = None
    """The folder of its runs, if not its name: experiments that have it in common share runs of the
    same label, each of which is then trained once."""
    search: Callable[[Scale], PlannedSearch] | None = None
    """The search that it rests on, at a scale."""
    looks: Callable[[Scale], Sequence[int]] = lambda scale: ()
    """At which numbers of seeds results may be read, where a plan stops early: intervals are then
    wider, so that all of them hold together (see `statistics.levels`). Otherwise any, once."""
    large: bool = False
    """Whether it computes with large models; small ones are slower on more than one thread."""

    @property
    def folder(self) -> str:
        """The name of the folder of its runs."""
        return self.shared_runs or self.name


@dataclass(frozen=True)
class Finding:
    """One number that speaks for or against a claim."""

    effect: str
    """What was estimated, in words."""
    estimate: Estimate
    """The effect with its interval."""
    smallest: float
    """The smallest effect that would matter: the claim must clear it. Ours."""
    decides: bool = True
    """Whether the claim rests on this number, or it is shown only."""

    @property
    def outcome(self) -> Outcome:
        """`holds` or `fails` if the whole interval lies on one side of the smallest effect."""
        if self.estimate.low > self.smallest:
            return "holds"
        return "fails" if self.estimate.high < self.smallest else "undecided"

    @property
    def words(self) -> str:
        """The outcome, or that the claim does not rest on it."""
        return self.outcome if self.decides else "not deciding"

    @property
    def count_to_decide(self) -> float:
        """How many seeds would decide it at the effect seen; infinite where no number would."""
        found = self.estimate.count_to_decide(self.smallest)
        return math.inf if found is None else found


@dataclass(frozen=True)
class Verdict:
    """What came out for one claim."""

    claim: "Claim"
    """What was tested."""
    findings: tuple[Finding, ...]
    """What was found."""

    @property
    def outcome(self) -> Outcome:
        """The claim holds if all it rests on holds, and fails if any of that fails."""
        outcomes = {finding.outcome for finding in self.findings if finding.decides}
        if "fails" in outcomes:
            return "fails"
        return "holds" if outcomes == {"holds"} else "undecided"

    @property
    def to_decide(self) -> str:
        """How many seeds would decide an undecided claim at the effects seen, in words."""
        if self.outcome != "undecided":
            return ""
        open_ones = [one for one in self.findings if one.decides and one.outcome == "undecided"]
        # One that falls short is enough to make the claim fail; otherwise all of them must hold.
        against = [one for one in open_ones if one.estimate.mean < one.smallest]
        last = (
            min(against, key=lambda one: one.count_to_decide)
            if against
            else max(open_ones, key=lambda one: one.count_to_decide)
        )
        unit = last.estimate.unit
        if not last.estimate.count:
            return f"none of the {unit} counts: {last.effect}"
        if not math.isfinite(last.count_to_decide):
            return f"no number of {unit} would decide it at the effect seen"
        return (
            f"about {last.count_to_decide:.0f} {unit} would decide it at the effect seen (80 % "
            f"power): {last.effect}"
        )

    @property
    def headline(self) -> Finding:
        """The first finding: the effect and interval to quote."""
        return self.findings[0]


@dataclass(frozen=True)
class Claim:
    """A sentence that an experiment can support or refute."""

    name: str
    """Such as `whats-missing/averaging`."""
    sentence: str
    """What is claimed, in one sentence."""
    source: str
    """Where the paper says so."""
    experiment: Experiment
    """What it rests on."""
    evidence: Callable[[Results], Sequence[Finding]]
    """The findings for and against it; the first one is quoted."""
    drawings: Sequence[Drawing] = ()
    """Figures of its own, shown after those of the experiment; one that claims share, once."""
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()
    """Tables of its own, shown after those of the experiment."""
    place: int = 1000
    """Where it stands among the claims of its paper: those with lower numbers come first."""

    @property
    def paper(self) -> str:
        """The first part of its name."""
        return self.name.split("/")[0]

    def judge(self, results: Results) -> Verdict:
        """Test the claim on what its experiment gave.

        Args:
            results: What its experiment gave.
        """
        return Verdict(self, tuple(self.evidence(results)))
