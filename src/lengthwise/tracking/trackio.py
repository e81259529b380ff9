"""Trackio: a database on this machine, which `trackio show` reads; nothing is sent anywhere."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class TrackioSink:
    """A run in the database of the folder, or of TRACKIO_DIR if that is set."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        """Begin a run."""
        os.environ.setdefault("TRACKIO_DIR", str(folder.resolve()))
        os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import trackio

        self._run = trackio.init(
            project=os.environ.get("TRACKIO_PROJECT", "lengthwise"),
            name=name,
            config=dict(config),
            embed=False,
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All at once."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """End the run."""
        self._run.finish()


open_sink = TrackioSink
