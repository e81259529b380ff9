"""`lengthwise report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import tyro


@dataclass
class Report:
    """Judge claims on finished results, and write or renew a Markdown page about them.

    In a page that is there, tables between marks are made anew and nothing else is touched:
    '<!-- verdicts -->', '<!-- findings CLAIM ... -->' or '<!-- table NAME -->', then
    '<!-- end -->'. Figures, tables and all findings are written beside it.

    Example: lengthwise report runs/reproduce/othello/laptop --markdown othello.md
    """

    results: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders that 'lengthwise reproduce' left: EXPERIMENT/SCALE, all at one place and scale."""

    markdown: Path = Path("README.md")
    """The page."""

    claims: tuple[str, ...] = ()
    """Claims, papers or Python files with claims; if not given, all that rest on these results."""

    seeds: int | None = None
    """How many paired seeds to read, instead of those of the scale."""

    first_seed: int | None = None
    """Where they begin, instead of where the plan says."""

    model: str | None = None
    """Which model was probed, for claims that probe one."""

    def run(self) -> int:
        """Open, judge, write, print."""
        from lengthwise.claims import Scale, reopen
        from lengthwise.cli.reproduce import print_verdicts
        from lengthwise.errors import require
        from lengthwise.files import write_text
        from lengthwise.papers import CLAIMS, find_claims
        from lengthwise.report.files import write_files
        from lengthwise.report.markdown import new_page, renewed

        before = self._before()
        require(bool(self.results), "results", "", "folders such as runs/reproduce/othello/laptop")
        given = " ".join(map(str, self.results))
        folders = [folder.resolve() for folder in self.results]
        ((out, last), *others) = dict.fromkeys((one.parents[1], one.name) for one in folders)
        require(not others, "results", given, "folders of one place and one scale")
        scale: Scale | None = next((one for one in get_args(Scale) if one == last), None)
        require(scale is not None, "results", given, "folders called quick, laptop or paper")
        assert scale is not None
        known = [one for name in self.claims or CLAIMS for one in find_claims(name)]
        names = {folder.parent.name for folder in folders}
        claims = [one for one in dict.fromkeys(known) if one.experiment.folder in names]
        if not self.claims:  # of a folder that experiments share, some may not have been run
            claims = [
                one
                for one in claims
                if all((out / one.experiment.folder / scale / run).is_dir()
                       for run in one.experiment.plan(scale))
            ]  # fmt: skip
        require(bool(claims), "results", given, "folders that claims rest on")
        done = reopen(claims, scale, out, self.model, self.seeds, self.first_seed)
        text = new_page(done) if before is None else renewed(before, done)
        self.markdown.parent.mkdir(parents=True, exist_ok=True)
        write_files(done, self.markdown.parent)
        write_text(self.markdown, text)
        print_verdicts(done)
        print(f"page: {self.markdown.resolve()} (its figures and tables lie beside it)")
        return 0

    def _before(self) -> str | None:
        """The page as it is; None if there is none yet."""
        from lengthwise.errors import InputError
        from lengthwise.files import read_text

        try:
            return read_text(self.markdown)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise InputError(
                f"markdown = {str(self.markdown)!r}: cannot be read ({reason}): expected a page"
            ) from error
