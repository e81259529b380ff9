"""What every tracker is here, and where to find it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol

from lengthwise.errors import InputError, require_name

TrackerName = Literal["trackio", "wandb", "tensorboard", "mlflow"]


class Sink(Protocol):
    """Takes numbers. It is made, used and closed by one thread that is not the training's."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Keep numbers by their names, at a step; steps never fall."""

    def close(self) -> None:
        """Write whatever is not written yet."""


@dataclass(frozen=True)
class Tracker:
    """A tracker by its name."""

    module: str
    """What it imports; the package of one of them is enough."""
    package: str
    """What to install."""

    def open(self, own: str, folder: Path, name: str, config: Mapping[str, Any]) -> Sink:
        """A sink of it.

        Args:
            own: The name of the tracker.
            folder: Where its files go.
            name: What the training is called.
            config: What it is, as plain values.
        """
        sink: Sink = import_module(f"lengthwise.tracking.{own}").open_sink(folder, name, config)
        return sink


TRACKERS: dict[str, Tracker] = {
    "trackio": Tracker("trackio", "trackio"),
    "wandb": Tracker("wandb", "wandb"),
    "tensorboard": Tracker("tensorboard", "tensorboard"),
    "mlflow": Tracker("mlflow", "mlflow-skinny"),
}
"""All that are known. (`mlflow-skinny` is MLflow without its server; either will do.)"""


def require_tracker(name: str) -> Tracker:
    """The tracker of a name.

    Raises:
        InputError: It is not known, or its package is not installed.
    """
    require_name(name, TRACKERS, "track")
    tracker = TRACKERS[name]
    if find_spec(tracker.module) is None:
        raise InputError(
            f"track = {name!r}: expected its package, which is not installed: "
            f"pip install {tracker.package}"
        )
    return tracker


def flat(config: Mapping[str, Any], before: str = "") -> dict[str, str | int | float | bool]:
    """Nested values under names with dots, for trackers that take plain ones only."""
    made: dict[str, str | int | float | bool] = {}
    for key, value in config.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            made |= flat(value, f"{name}.")
        else:
            made[name] = value if isinstance(value, str | int | float | bool) else str(value)
    return made
