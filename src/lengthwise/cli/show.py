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

    measure: str | None = None
    """What to show, by default tvd or accuracy. Set complement and Othello have tvd,
    illegal_mass, argmax_illegal, kl and displacement; retrieval has accuracy, entropy,
    largest_weight, right_weight and moments of the attention output such as
    feature_variance_after."""

    plot: Path | None = None
    """A figure to write; its name ends in .png, .svg or .pdf."""

    def run(self) -> int:
        """Print the run's summary and its table."""
        from rich.console import Console

        from lengthwise.cli.terminal import quoted
        from lengthwise.report.runs import chosen_measure, plot_run, summary_table
        from lengthwise.report.style import save
        from lengthwise.runs import RunFolder

        folder = RunFolder.open(self.run_folder)
        table = folder.table() if folder.finished else None
        measure = None if table is None else chosen_measure(table, self.measure)
        version = folder.description["version"]
        print(f"{folder.path}: {len(folder.members)} models, made by")
        print(f"  {quoted(folder.description['command'])}")
        print(f"  {', '.join(f'{name} {value}' for name, value in version.items())}")
        if table is None or measure is None:
            step = folder.newest_step()
            print(f"not finished: saved at step {step} of {folder.recipe.steps}")
            print(f"go on with: lengthwise resume {folder.path}")
            return 0
        train_length = folder.recipe.train_length
        Console().print(summary_table(table, measure, train_length))
        if self.plot is not None:
            save(plot_run(table, measure, train_length), self.plot)
            print(f"figure: {self.plot}")
        return 0
