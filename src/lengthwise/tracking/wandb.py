"""Weights & Biases, offline unless WANDB_MODE says otherwise: `wandb sync` sends it later."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class WandbSink:
    """A run in its folder. Project, entity and the like are taken from wandb's own variables."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        """Begin a run."""
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "lengthwise"),
            name=name,
            config=dict(config),
            dir=str(folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All at once."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """End the run."""
        self._run.finish()


open_sink = WandbSink
