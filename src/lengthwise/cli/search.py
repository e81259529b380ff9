"""`lengthwise search`: run one, look at it, take its results elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

if TYPE_CHECKING:
    import polars

    from lengthwise.search import Space
    from lengthwise.search.run import Progress, Report

PLAIN_SECONDS = 10.0
"""Time between lines where the output is not a terminal."""


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

    def search(self, space: "Space", out: Path) -> int:
        """Run the search, or go on with it."""
        from lengthwise.cli.terminal import command_line, quoted
        from lengthwise.search import LocalExecutor, RayExecutor, search
        from lengthwise.search.run import best

        executor = (
            LocalExecutor(self.workers) if self.ray is None else RayExecutor(self.ray, self.workers)
        )
        try:
            with _progress_display() as report:
                folder = search(
                    space, self.trials, out, seed=self.seed, executor=executor, report=report,
                    command=command_line(),
                )  # fmt: skip
        except KeyboardInterrupt:
            print(f"stopped; the trials done are kept; go on with: {quoted(command_line())}")
            return 130
        found = best(folder.table())
        print(f"{self.trials} trials done: {out}")
        if found:
            print(f"best: trial {found.trial}, {found.weights}: TVD beyond {found.value:.4f}")
        print(f"look at them: lengthwise search status {out}")
        return 0


@dataclass
class SearchSetComplement(_Options):
    """Search minimal transformers on set complement: random hyper-parameters, packed into fleets.

    Run the same command again and it goes on where it stopped; a larger --trials extends it. The
    default space is ours: see docs/search.md. Every trial is measured at every length, raw and for
    a grid of EMA and BEMA powers.

    Example: lengthwise search set-complement --trials 2000 --seed 0
    """

    space: Path | None = None
    """A Python file with 'space = Space(SetComplementRecipe, ...)'. It is run: trust it first."""

    out: Path = Path("runs/search/set-complement")
    """The search's folder."""

    def run(self) -> int:
        """Search the default space, or the one of a file."""
        from lengthwise.errors import require
        from lengthwise.runs import SetComplementRecipe
        from lengthwise.search import load_space
        from lengthwise.search.set_complement import set_complement_space

        if self.space is None:
            return self.search(set_complement_space(), self.out)
        space = load_space(self.space)
        require(
            space.recipe is SetComplementRecipe,
            "space",
            str(self.space),
            f"a space of SetComplementRecipe; for others: lengthwise search run {self.space}",
        )
        return self.search(space, self.out)


@dataclass
class SearchRun(_Options):
    """Search a space of your own: any module and task. docs/search.md has one in twenty lines.

    Run the same command again and it goes on where it stopped; a larger --trials extends it.

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

    def run(self) -> int:
        """Read all shards and print."""
        import polars

        from lengthwise.cli.terminal import quoted
        from lengthwise.errors import require
        from lengthwise.search import SearchFolder

        require(self.top >= 1, "top", self.top, "at least 1")
        folder = SearchFolder.open(self.folder)
        table = folder.table()
        done = table["trial"].n_unique()
        asked = folder.asked[-1] if folder.asked else 0
        print(f"{done} of {asked} trials, seed {folder.seed}, {len(folder.shards())} shards")
        if done < asked:
            state = "running" if folder.in_use() else "stopped; go on with"
            print(f"{state}: {quoted(folder.description['command'])}")
        if done == 0:
            return 0
        diverged = table.filter(polars.col("diverged").is_not_null())["trial"].n_unique()
        print(f"{diverged} diverged")
        if "tvd_beyond" in table.columns:
            _print_best(table, self.top)
        return 0


@dataclass
class SearchExport:
    """Write the table of a search for other tools: Parquet, CSV, or an Optuna study.

    The files have one row per trial and set of weights. The study has one trial per trial, whose
    value is the least mean TVD beyond the training length over all its weights; optuna-dashboard
    and Optuna's plots then work on it.

    Example: lengthwise search export runs/search/set-complement --to optuna sqlite:///study.db
    """

    folder: tyro.conf.Positional[Path]
    """The search's folder."""

    to: tuple[Literal["parquet", "csv", "optuna"], str]
    """The format, and the file to write or the Optuna storage to fill."""

    name: str | None = None
    """Name of the Optuna study; that of the folder if not given."""

    def run(self) -> int:
        """Read all shards and write."""
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


def _print_best(table: "polars.DataFrame", top: int) -> None:
    """The best trials, each with the weights it is best with."""
    import polars
    from rich.console import Console
    from rich.table import Table

    from lengthwise.report.numbers import number

    alive = table.filter(polars.col("diverged").is_null(), polars.col("tvd_beyond").is_not_nan())
    best = alive.sort("tvd_beyond", "trial").unique("trial", keep="first", maintain_order=True)
    hidden = ("factor", "diverged")
    names = table.columns[: table.columns.index("bias_power") + 1]
    shown = Table(title="least mean TVD beyond the training length", title_justify="left")
    for heading in ("trial", "TVD", "weights", "settings"):
        shown.add_column(heading, justify="left" if heading in ("weights", "settings") else "right")
    for row in best.head(top).iter_rows(named=True):
        powers = [f"{row[p]:g}" for p in ("ema_power", "bias_power") if row[p] is not None]
        settings = {
            name: number(row[name]) if isinstance(row[name], float) else str(row[name])
            for name in names
            if name not in (*hidden, "trial", "weights", "ema_power", "bias_power")
            and row[name] is not None
        }
        shown.add_row(
            str(row["trial"]),
            number(row["tvd_beyond"]),
            " ".join([row["weights"], *powers]),
            ", ".join(f"{name} {value}" for name, value in settings.items()),
        )
    Console().print(shown)


@contextmanager
def _progress_display() -> "Iterator[Report]":
    """A bar with speed, time left and the best so far; a line now and then if not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines()
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[detail]}"))
    with Bars(*columns, console=console) as bars:
        task = bars.add_task("searching", detail="starting")

        def update(progress: "Progress") -> None:
            bars.update(
                task, total=progress.trials, completed=progress.done, detail=_detail(progress)
            )

        yield update


class _PlainLines:
    def __init__(self) -> None:
        self._printed = -PLAIN_SECONDS

    def __call__(self, progress: "Progress") -> None:
        now = time.monotonic()
        if now - self._printed < PLAIN_SECONDS and progress.done < progress.trials:
            return
        self._printed = now
        print(f"{progress.done}/{progress.trials} trials, {_detail(progress)}", file=sys.stderr)


def _detail(progress: "Progress") -> str:
    parts = [f"{progress.per_minute:.0f} per minute"]
    if progress.seconds_left is not None:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02d} left")
    if progress.best is not None:
        parts.append(f"best {progress.best.value:.4f} (trial {progress.best.trial})")
    return ", ".join(parts)
