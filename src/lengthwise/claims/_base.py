"""Claims: sentences from a paper, the experiments that test them, and the verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars

from lengthwise.claims.statistics import Estimate
from lengthwise.runs import Recipe
from lengthwise.search import SearchFolder, Space
from lengthwise.training import Hyperparameters

Scale = Literal["quick", "laptop", "paper"]
Outcome = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class PlannedRun:
    """One fleet that an experiment trains."""

    recipe: Recipe
    members: tuple[Hyperparameters, ...]


@dataclass(frozen=True)
class PlannedSearch:
    """The search that an experiment rests on."""

    space: Space
    trials: int
    seed: int = 0


@dataclass(frozen=True)
class Results:
    """What an experiment gave: its plan, a table of measures per run, and its search."""

    scale: Scale
    plan: Mapping[str, PlannedRun]
    tables: Mapping[str, polars.DataFrame]
    folder: Path
    """Where the experiment keeps its files; each run lies in a folder of its label."""
    model: str | None = None
    """Which model to probe instead of the experiment's own, where it probes one."""
    search: SearchFolder | None = None
    """The experiment's search, if it has one."""


@dataclass(frozen=True)
class Picture:
    """A figure with its words."""

    svg: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Table:
    """Numbers as a reader wants them, cell by cell; the first column names the rows."""

    name: str
    """Such as `accuracy`: also the name of its file."""
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """What a report says about one experiment."""

    title: str
    introduction: str
    pictures: Sequence[Picture]
    notes: Sequence[str]
    """What a reader must know to judge the numbers, such as which values are ours."""
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Experiment:
    """What several claims rest on: runs to train, a search, or nothing but computation."""

    name: str
    plan: Callable[[Scale], dict[str, PlannedRun]]
    """The runs by label, at a scale; empty where the evidence is computed without training."""
    section: Callable[[Results], Section]
    """Its part of the report."""
    shelf: str | None = None
    """The folder of its runs, if not its name: experiments that have it in common share runs of the
    same label, each of which is then trained once."""
    search: Callable[[Scale], PlannedSearch] | None = None
    """The search that it rests on, at a scale."""
    large: bool = False
    """Whether it computes with large models; small ones are slower on more than one thread."""


@dataclass(frozen=True)
class Finding:
    """One number that speaks for or against a claim."""

    effect: str
    """What was estimated, in words."""
    estimate: Estimate
    smallest: float
    """The smallest effect that would matter: the claim must clear it. Ours."""
    decides: bool = True
    """Whether the claim rests on this number, or it is shown beside it."""

    @property
    def outcome(self) -> Outcome:
        """`holds` or `fails` if the whole interval lies on one side of the smallest effect."""
        if self.estimate.low > self.smallest:
            return "holds"
        return "fails" if self.estimate.high < self.smallest else "undecided"


@dataclass(frozen=True)
class Verdict:
    """What came out for one claim."""

    claim: "Claim"
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """The claim holds if all it rests on holds, and fails if any of that fails."""
        outcomes = {finding.outcome for finding in self.findings if finding.decides}
        if "fails" in outcomes:
            return "fails"
        return "holds" if outcomes == {"holds"} else "undecided"

    @property
    def headline(self) -> Finding:
        """The first finding: the effect, interval and number of seeds to quote."""
        return self.findings[0]


@dataclass(frozen=True)
class Claim:
    """A sentence that an experiment can support or refute."""

    name: str
    """Such as `whats-missing/averaging`."""
    sentence: str
    source: str
    experiment: Experiment
    evidence: Callable[[Results], Sequence[Finding]]
    """The findings for and against it; the first one is quoted."""
    pictures: Callable[[Results], Sequence[Picture]] = lambda results: ()
    """Pictures of its own, shown after those of the experiment."""
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()
    """Tables of its own, shown after those of the experiment."""

    def judge(self, results: Results) -> Verdict:
        """Test the claim on what its experiment gave."""
        return Verdict(self, tuple(self.evidence(results)))
