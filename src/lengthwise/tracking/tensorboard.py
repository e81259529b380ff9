"""TensorBoard: event files, which `tensorboard --logdir FOLDER/track` shows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class TensorBoardSink:
    """Event files by torch's own writer."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        """Begin a file."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder))
        text = json.dumps(config, indent=1)
        self._writer.add_text("config", f"    {text}".replace("\n", "\n    "), 0)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """One scalar for each."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write the rest."""
        self._writer.close()


open_sink = TensorBoardSink
