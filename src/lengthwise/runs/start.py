"""Beginning a run with the trained models of another one."""

from pathlib import Path

import torch
from torch import nn

from lengthwise.errors import InputError, require
from lengthwise.remedies import Remedy
from lengthwise.remedies.norms import FleetBatchNorm
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
        here, there = _remedy(fleet.template, name), _remedy(trained.template, name)
        if here != there:
            raise InputError(
                f"start_from = {path!r}: {name} belongs to {there} there and to {here} here: "
                "expected remedies in the same order, new ones behind them"
            )
        own[name].copy_(theirs[name][rows])
    for name, module in fleet.template.named_modules():
        if isinstance(module, FleetBatchNorm):  # what it counted in training is as good as learned
            for kept in (f"{name}.mean", f"{name}.variance"):
                if kept in trained.buffers:
                    fleet.buffers[kept].copy_(trained.buffers[kept][rows])


def _remedy(model: nn.Module, weight: str) -> tuple[str, str | None] | None:
    """The remedy that a weight is part of, by its name and what it replaces."""
    places = weight.split(".")
    parts = (model.get_submodule(".".join(places[:end])) for end in range(1, len(places)))
    return next(((one.name, one.replaces) for one in parts if isinstance(one, Remedy)), None)


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
