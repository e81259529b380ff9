"""`lengthwise show`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass
class Show:
    """Print what a run trains and what it measured at every length; plot it if asked.

    Beside what was measured stands what can be had without reading the input: by chance, and by
    the best predictor that knows only the length and the place.

    Example: lengthwise show runs/set-complement --measure tvd --plot tvd.png
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""

    measure: str | None = None
    """What to show, by default tvd, or accuracy where there is no tvd; an unknown one lists those
    that were measured."""

    plot: Path | None = None
    """A figure to write; its name ends in .png, .svg or .pdf."""

    def run(self) -> int:
        """Print the run's summary and its table."""
        from rich.console import Console

        from lengthwise.cli.terminal import quoted
        from lengthwise.report.runs import chosen_measure, plot_run, run_baseline, summary_table
        from lengthwise.report.style import save
        from lengthwise.runs import RunFolder
        from lengthwise.runs.exhausted import exhausted_note

        folder = RunFolder.open(self.run_folder)
        table = folder.table() if folder.finished else None
        measure = None if table is None else chosen_measure(table, self.measure)
        print(f"{folder.path}: {len(folder.hyperparameters)} models, made by")
        print(f"  {quoted(folder.command)}")
        print(f"  {', '.join(f'{name} {value}' for name, value in folder.version.items())}")
        note = exhausted_note(folder.recipe)
        if note is not None:
            print(note)
        if table is None or measure is None:
            step = folder.newest_step()
            print(f"not finished: saved at step {step} of {folder.recipe.steps}")
            print(f"resume it with: lengthwise resume {folder.path}")
            return 0
        max_train_length = folder.recipe.max_train_length
        baseline = run_baseline(folder.recipe, table, measure)
        Console().print(summary_table(table, measure, max_train_length, baseline))
        if self.plot is not None:
            save(plot_run(table, measure, max_train_length, baseline), self.plot)
            print(f"figure: {self.plot}")
        return 0
