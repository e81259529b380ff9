"""`lengthwise search`: run one, look at it, take its results elsewhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from lengthwise.tracking import TrackerName, require_tracker

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars

    from lengthwise.search import SearchFolder, Space
    from lengthwise.tracking import Tracking


@dataclass
class _Options:
    """What all searches share."""

    trials: int = 2000
    """How many trials there shall be. More than last time extends the search."""

    seed: int = 0
    """The search's seed: trial number i of a seed is always the same."""

    workers: int | None = None
    """Processes, one thread each; one per core if not given."""

    ray: str | None = None
    """Train on a Ray cluster: host:port, auto (the one this machine belongs to), or local."""

    track: TrackerName | None = None
    """Hand what trials give to a tracker as well: trackio, wandb, tensorboard or mlflow. Its files
    go into track/ in the folder; nothing is sent anywhere (docs/tracking.md)."""

    def search(self, space: "Space", out: Path) -> int:
        """Run the search, or resume it."""
        from lengthwise.cli.terminal import command_line, progress_display, quoted
        from lengthwise.search import LocalExecutor, RayExecutor, search
        from lengthwise.search.objective import ranked, weights_name
        from lengthwise.tracking import start

        tracker = self.track
        begin: Callable[[SearchFolder], Tracking] | None = None
        if tracker is not None:
            require_tracker(tracker)

            def begin(folder: "SearchFolder") -> "Tracking":
                given = {"seed": self.seed, "trials": self.trials, "command": command_line()}
                return start(tracker, folder.path, folder.path.name, given)

        executor = (
            LocalExecutor(self.workers) if self.ray is None else RayExecutor(self.ray, self.workers)
        )
        try:
            with progress_display() as report:
                folder = search(
                    space, self.trials, out, seed=self.seed, executor=executor, report=report,
                    command=command_line(), track=begin,
                )  # fmt: skip
        except KeyboardInterrupt:
            print(f"stopped; the trials done are kept; resume with: {quoted(command_line())}")
            return 130
        print(f"{self.trials} trials done: {out}")
        for row in ranked(folder.table(), space.objective).head(1).iter_rows(named=True):
            value = f"{space.objective} {row[space.objective]:.4f}"
            print(f"best: trial {row['trial']}, {weights_name(row)}: {value}")
        print(f"look at them: lengthwise search status {out}")
        return 0


@dataclass
class SearchSetComplement(_Options):
    """Search minimal transformers on set complement: random hyper-parameters, packed into fleets.

    Run the same command again and it resumes where it stopped; a larger --trials extends it. The
    default space is ours: see docs/search.md. Every trial is measured at every length, raw and for
    a grid of EMA and BEMA powers.

    Example: lengthwise search set-complement --trials 2000 --seed 0
    """

    space: Path | None = None
    """A Python file with 'space = Space(...)' of this task. It is run: trust it first."""

    out: Path = Path("runs/search/set-complement")
    """The search's folder."""

    def run(self) -> int:
        """Search the default space, or the one of a file."""
        from lengthwise.errors import require
        from lengthwise.papers.whats_missing.search.space import set_complement_space
        from lengthwise.search import load_space
        from lengthwise.tasks import SetComplement

        if self.space is None:
            return self.search(set_complement_space(), self.out)
        space = load_space(self.space)
        require(
            isinstance(space.recipe.task, SetComplement),
            "space",
            str(self.space),
            f"a space of that task; for others: lengthwise search run {self.space}",
        )
        return self.search(space, self.out)


@dataclass
class SearchRun(_Options):
    """Search a space of your own: any task, model and remedies; docs/search.md has an example.

    Run the same command again and it resumes where it stopped; a larger --trials extends it.

    Example: lengthwise search run my_space.py --trials 500
    """

    file: tyro.conf.Positional[Path] = tyro.MISSING
    """A Python file with 'space = Space(...)'. It is run: trust it first."""

    out: Path | None = None
    """The search's folder; runs/search/NAME after the file's name if not given."""

    def run(self) -> int:
        """Search the space of a file."""
        from lengthwise.search import load_space

        return self.search(load_space(self.file), self.out or Path("runs/search") / self.file.stem)


@dataclass
class SearchStatus:
    """Say how far a search is, how many trials diverged, and which are the best so far.

    Example: lengthwise search status runs/search/set-complement
    """

    folder: tyro.conf.Positional[Path]
    """The search's folder."""

    top: int = 5
    """How many of the best trials to show."""

    objective: str | None = None
    """What makes a trial the best, such as tvd_beyond or kl_within; by default what was searched
    for."""

    def run(self) -> int:
        """Read all chunks and print."""
        import polars

        from lengthwise.cli.terminal import quoted
        from lengthwise.errors import require
        from lengthwise.search import SearchFolder

        require(self.top >= 1, "top", self.top, "at least 1")
        folder = SearchFolder.open(self.folder)
        table = folder.table()
        done = table["trial"].n_unique()
        asked = folder.asked[-1] if folder.asked else 0
        print(f"{done} of {asked} trials, seed {folder.seed}, {len(folder.files())} fleets")
        if done < asked:
            state = "running" if folder.in_use() else "stopped; resume with"
            print(f"{state}: {quoted(folder.description['command'])}")
        if done == 0:
            return 0
        diverged = table.filter(polars.col("diverged").is_not_null())["trial"].n_unique()
        print(f"{diverged} diverged")
        _print_best(table, self.objective or folder.objective, self.top)
        return 0


@dataclass
class SearchExport:
    """Write the table of a search for other tools: Parquet, CSV, or an Optuna study.

    The files have one row per trial and set of weights. The study has one trial per trial, whose
    value is the best one of the search's objective over all its weights; optuna-dashboard and
    Optuna's plots then work on it.

    Example: lengthwise search export runs/search/set-complement --to optuna sqlite:///study.db
    """

    folder: tyro.conf.Positional[Path]
    """The search's folder."""

    to: tuple[Literal["parquet", "csv", "optuna"], str]
    """The format, and the file to write or the Optuna storage to fill."""

    name: str | None = None
    """Name of the Optuna study; that of the folder if not given."""

    def run(self) -> int:
        """Read all chunks and write."""
        from lengthwise.search import SearchFolder
        from lengthwise.search.export import to_file, to_optuna

        folder = SearchFolder.open(self.folder)
        kind, target = self.to
        if kind == "optuna":
            name = self.name or self.folder.resolve().name
            count = to_optuna(folder, target, name)
            print(f"{count} trials in study {name!r} of {target}")
        else:
            rows = to_file(folder, Path(target), kind)
            print(f"{rows} rows: {target}")
        return 0


def _print_best(table: "polars.DataFrame", objective: str, top: int) -> None:
    """The best trials, each with the weights it is best with."""
    from rich.console import Console
    from rich.table import Table

    from lengthwise.report.numbers import number
    from lengthwise.search.objective import maximised, ranked, weights_name

    names = table.columns[: table.columns.index("weights")]
    title = f"{'greatest' if maximised(objective) else 'least'} {objective}"
    shown = Table(title=title, title_justify="left")
    for heading in ("trial", objective, "weights", "settings"):
        shown.add_column(heading, justify="left" if heading in ("weights", "settings") else "right")
    for row in ranked(table, objective).head(top).iter_rows(named=True):
        settings = [
            f"{name} {number(row[name]) if isinstance(row[name], float) else row[name]}"
            for name in names
            if name not in ("trial", "factor", "diverged") and row[name] is not None
        ]
        value = number(row[objective])
        shown.add_row(str(row["trial"]), value, weights_name(row), ", ".join(settings))
    Console().print(shown)
