"""Train short, test long: see where a transformer breaks, why, and what mends it.

The names below are what most people need; everything else is in the subpackages, which Tab finds:
`tasks`, `models`, `remedies`, `training`, `measures`, `runs`, `search`, `averaging`, `theory`,
`probing`, `checking`, `claims`, `papers`, `report`, `othello`, `testing`.
"""

from typing import TYPE_CHECKING, Any

from lengthwise._version import __version__

if TYPE_CHECKING:
    from lengthwise.averaging import BEMA, EMA
    from lengthwise.checking import check
    from lengthwise.claims import reproduce
    from lengthwise.measures import measure
    from lengthwise.models import Model, model
    from lengthwise.probing import probe
    from lengthwise.remedies import Remedy, remedy
    from lengthwise.runs import Recipe, load_model, recipe_for, save_model
    from lengthwise.search import Space
    from lengthwise.tasks import Task, task
    from lengthwise.theory import certify
    from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet

_HOMES = {
    "BEMA": "averaging",
    "EMA": "averaging",
    "Fleet": "training",
    "Hyperparameters": "hyperparameters",
    "Model": "models",
    "Recipe": "runs",
    "Remedy": "remedies",
    "Space": "search",
    "Task": "tasks",
    "Trainer": "training",
    "build_fleet": "training",
    "certify": "theory",
    "check": "checking",
    "load_model": "runs",
    "measure": "measures",
    "model": "models",
    "probe": "probing",
    "recipe_for": "runs",
    "remedy": "remedies",
    "reproduce": "claims",
    "save_model": "runs",
    "task": "tasks",
}
_SUBPACKAGES = (
    "averaging", "checking", "claims", "measures", "models", "othello", "papers", "probing",
    "remedies", "report", "runs", "search", "tasks", "testing", "theory", "training",
)  # fmt: skip

__all__ = [
    "BEMA",
    "EMA",
    "Fleet",
    "Hyperparameters",
    "Model",
    "Recipe",
    "Remedy",
    "Space",
    "Task",
    "Trainer",
    "__version__",
    "build_fleet",
    "certify",
    "check",
    "load_model",
    "measure",
    "model",
    "probe",
    "recipe_for",
    "remedy",
    "reproduce",
    "save_model",
    "task",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `lengthwise --help` needs no torch."""
    import importlib

    if name in _HOMES:
        value = getattr(importlib.import_module(f"lengthwise.{_HOMES[name]}"), name)
    elif name in _SUBPACKAGES:
        value = importlib.import_module(f"lengthwise.{name}")
    else:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES})
