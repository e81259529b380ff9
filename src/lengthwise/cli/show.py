"""`lengthwise show`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass
class Show:
    """Print what a run trains and what it measured at every length; plot it if asked.

    Example: lengthwise show runs/set-complement --measure tvd --plot tvd.png
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""

    measure: str = "tvd"
    """What to show: tvd, illegal_mass, argmax_illegal, kl or displacement."""

    plot: Path | None = None
    """A figure to write; its name ends in .png, .svg or .pdf."""

    def run(self) -> int:
        """Print the run's summary and its table."""
        from rich.console import Console

        from lengthwise.cli.terminal import quoted
        from lengthwise.errors import require_name
        from lengthwise.measures import MEASURES
        from lengthwise.report.runs import plot_run, summary_table
        from lengthwise.report.style import save
        from lengthwise.runs import RunFolder

        require_name(self.measure, MEASURES, "measure")
        folder = RunFolder.open(self.run_folder)
        version = folder.description["version"]
        print(f"{folder.path}: {len(folder.members)} models, made by")
        print(f"  {quoted(folder.description['command'])}")
        print(f"  {', '.join(f'{name} {value}' for name, value in version.items())}")
        if not folder.finished:
            step = folder.newest_step()
            print(f"not finished: saved at step {step} of {folder.recipe.steps}")
            print(f"go on with: lengthwise resume {folder.path}")
            return 0
        table = folder.table()
        Console().print(summary_table(table, self.measure, folder.recipe.train_length))
        if self.plot is not None:
            save(plot_run(table, self.measure, folder.recipe.train_length), self.plot)
            print(f"figure: {self.plot}")
        return 0
