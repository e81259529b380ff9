"""`lengthwise reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

if TYPE_CHECKING:
    from lengthwise.claims import Reproduction


@dataclass
class Reproduce:
    """Test what a paper claims: train what the claims need, judge them, write a page about it.

    Runs that are there already are used or resumed, so the same command resumes where it stopped.

    Example: lengthwise reproduce whats-missing/averaging --scale quick
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Claims, or papers for all of their claims (see --list), or a Python file with claims of your
    own, which is run: trust it first."""

    list: bool = False
    """List these claims, or all."""

    scale: Literal["quick", "laptop", "paper"] = "quick"
    """How much to spend: minutes, about an hour, or what a GPU does in a day."""

    seeds: int | None = None
    """How many paired seeds to have, instead of those of the scale: those that are there are kept,
    and only what is missing is trained."""

    first_seed: int | None = None
    """Where the seeds begin, instead of where the plan says, for seeds that nobody has seen."""

    model: str | None = None
    """Which model to probe, for claims that probe one; any that 'lengthwise probe' takes."""

    out: Path = Path("runs/reproduce")
    """Where runs and page go."""

    def run(self) -> int:
        """Run, judge, write, print."""
        from lengthwise.claims import reproduce
        from lengthwise.cli.terminal import command_line, progress_display, quoted
        from lengthwise.errors import require
        from lengthwise.files import write_text
        from lengthwise.papers import CLAIMS, find_claims
        from lengthwise.report.files import write_files
        from lengthwise.report.page import page
        from lengthwise.runs import Interrupted

        if self.list:
            for claim in [one for name in self.names or CLAIMS for one in find_claims(name)]:
                print(f"{claim.name}\n    {claim.sentence}\n    {claim.source}")
            return 0
        require(bool(self.names), "names", "", "a claim or a paper; --list shows them")
        claims = list(dict.fromkeys(claim for name in self.names for claim in find_claims(name)))
        try:
            with progress_display() as report:
                done = reproduce(
                    claims, self.scale, self.out, command_line(), report, self.model,
                    self.seeds, self.first_seed,
                )  # fmt: skip
        except Interrupted:
            print(f"stopped and saved; resume with: {quoted(command_line())}")
            return 130
        stem = "report"
        if len(self.names) == 1:
            stem = Path(self.names[0]).stem if self.names[0].endswith(".py") else self.names[0]
        path = self.out / f"{stem.replace('/', '-')}-{self.scale}.html"
        write_files(done, self.out, f"{path.stem}-")
        write_text(path, page(done, quoted(command_line())))
        print_verdicts(done)
        print(f"page: {path.resolve()} (its figures and tables lie beside it)")
        return 0


def print_verdicts(done: "Reproduction") -> None:
    """A line per claim."""
    from lengthwise.report.numbers import interval, number

    for verdict in done.verdicts:
        one = verdict.headline.estimate
        print(
            f"{verdict.outcome:>9}  {verdict.claim.name}: {verdict.headline.effect}: "
            f"{number(one.mean)} ({interval(one.low, one.high)}, {one.count} {one.unit})"
        )
        if verdict.to_decide:
            print(f"{'':>9}  {verdict.to_decide}")
