"""`lengthwise reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro


@dataclass
class Reproduce:
    """Test what a paper claims: train what the claims need, judge them, write a page about it.

    Runs that are there already are used or resumed, so the same command goes on where it stopped.

    Example: lengthwise reproduce whats-missing/averaging --scale quick
    """

    names: tyro.conf.Positional[tuple[str, ...]] = ()
    """Claims, or papers for all of their claims; see --list."""

    list: bool = False
    """List all claims."""

    scale: Literal["quick", "laptop", "paper"] = "quick"
    """How much to spend: minutes, about an hour, or what a GPU does in a day."""

    model: str | None = None
    """Which model to probe, for claims that probe one; any that 'lengthwise probe' takes."""

    out: Path = Path("runs/reproduce")
    """Where runs and page go."""

    def run(self) -> int:
        """Run, judge, write, print."""
        import polars

        from lengthwise.claims import reproduce
        from lengthwise.cli.terminal import command_line, progress_display, quoted
        from lengthwise.errors import require
        from lengthwise.files import write_text, write_with
        from lengthwise.papers import CLAIMS, find_claims
        from lengthwise.report.findings import findings_table
        from lengthwise.report.numbers import number
        from lengthwise.report.page import page
        from lengthwise.runs import Interrupted

        if self.list:
            for claim in CLAIMS.values():
                print(f"{claim.name}\n    {claim.sentence}\n    {claim.source}")
            return 0
        require(bool(self.names), "names", "", "a claim or a paper; --list shows them")
        claims = list(dict.fromkeys(claim for name in self.names for claim in find_claims(name)))
        try:
            with progress_display() as report:
                done = reproduce(claims, self.scale, self.out, command_line(), report, self.model)
        except Interrupted:
            print(f"stopped and saved; go on with: {quoted(command_line())}")
            return 130
        stem = self.names[0].replace("/", "-") if len(self.names) == 1 else "report"
        path = self.out / f"{stem}-{self.scale}.html"
        for place, picture in enumerate(done.pictures, start=1):
            write_text(path.with_name(f"{path.stem}-figure-{place}.svg"), picture.svg)
        for table in done.tables:
            frame = polars.DataFrame(table.rows, schema=list(table.columns), orient="row")
            write_with(path.with_name(f"{path.stem}-{table.name}.csv"), frame.write_csv)
        findings = findings_table(done.verdicts)
        write_with(path.with_name(f"{path.stem}-findings.csv"), findings.write_csv)
        write_text(path, page(done, quoted(command_line())))
        for verdict in done.verdicts:
            low, high = verdict.headline.estimate.low, verdict.headline.estimate.high
            print(
                f"{verdict.outcome:>9}  {verdict.claim.name}: {verdict.headline.effect}: "
                f"{number(verdict.headline.estimate.mean)} ({number(low)} to {number(high)}, "
                f"{verdict.headline.estimate.count} seeds)"
            )
        print(f"page: {path.resolve()} (its figures and tables lie beside it)")
        return 0
