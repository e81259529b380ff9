"""Beginning a run with the trained models of another one."""

from pathlib import Path

import torch

from lengthwise.errors import InputError, require
from lengthwise.training import Fleet


@torch.no_grad()
def take_over(fleet: Fleet, path: str) -> None:
    """Give every model of `fleet` the weights of the model of its seed and trial at `path`.

    Weights are matched by name. Those that only the new models have, such as a new remedy's, stay
    as they were drawn; those that only the old ones have are left out.

    Raises:
        InputError: No model of that seed is there, or one of its weights has another shape.
    """
    from lengthwise.runs.folder import RunFolder
    from lengthwise.runs.models import load_trainer

    trained = load_trainer(RunFolder.open(Path(path))).fleet
    rows = _rows(fleet, trained, path)
    own, theirs = fleet.views(), trained.views()
    common = [name for name in own if name in theirs]
    require(bool(common), "start_from", path, "a run whose models share weights with these")
    for name in common:
        if own[name].shape[1:] != theirs[name].shape[1:]:
            raise InputError(
                f"start_from = {path!r}: {name} has shape {tuple(theirs[name].shape[1:])} there, "
                f"expected {tuple(own[name].shape[1:])}"
            )
        own[name].copy_(theirs[name][rows])


def _rows(fleet: Fleet, trained: Fleet, path: str) -> list[int]:
    """The model to begin with, for each one of the fleet."""
    streams = [(one.seed, one.trial) for one in trained.hyperparameters]
    rows = []
    for one in fleet.hyperparameters:
        found = [row for row, stream in enumerate(streams) if stream == (one.seed, one.trial)]
        if len(found) != 1:
            raise InputError(
                f"start_from = {path!r}: has {len(found)} models of seed {one.seed}, expected one "
                "for each seed of this run"
            )
        rows.append(found[0])
    return rows
