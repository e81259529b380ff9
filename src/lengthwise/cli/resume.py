"""`lengthwise resume`, and the training that `lengthwise train` shares with it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from lengthwise.tracking import TrackerName

if TYPE_CHECKING:
    from lengthwise.runs import RunFolder
    from lengthwise.tracking import Tracking


@dataclass
class Resume:
    """Resume a run that was stopped, from its newest checkpoint; the result is the same.

    Example: lengthwise resume runs/set-complement
    """

    run_folder: tyro.conf.Positional[Path]
    """The run folder."""

    checkpoint_seconds: float = 20.0
    """Time between checkpoints."""

    track: TrackerName | None = None
    """Hand losses and measures to a tracker, too: trackio, wandb, tensorboard or mlflow. Its files
    go into track/ in the folder; nothing is sent anywhere (docs/tracking.md)."""

    def run(self) -> int:
        """Train the rest of the run."""
        from lengthwise.runs import RunFolder

        return train(RunFolder.open(self.run_folder), self.checkpoint_seconds, self.track)


def train(folder: "RunFolder", checkpoint_seconds: float, tracker: str | None = None) -> int:
    """Execute a run with progress; Ctrl-C saves and says how to resume."""
    from contextlib import nullcontext

    import torch

    from lengthwise.cli.terminal import progress_display
    from lengthwise.memory import keep_freed_memory
    from lengthwise.runs import Interrupted, execute

    track = nullcontext() if tracker is None else _tracking(folder, tracker)
    torch.set_num_threads(1)  # at these sizes a second thread makes every step slower
    keep_freed_memory()
    try:
        with track as tracking, progress_display() as report:
            execute(folder, report, checkpoint_seconds=checkpoint_seconds, track=tracking)
    except Interrupted:
        print(f"stopped and saved; resume with: lengthwise resume {folder.path}")
        return 130
    print(f"finished; see: lengthwise show {folder.path}")
    return 0


def _tracking(folder: "RunFolder", tracker: str) -> "Tracking":
    from lengthwise.tracking import start

    given = {name: folder.description[name] for name in ("recipe", "command", "version")}
    return start(tracker, folder.path, folder.path.name, given)
