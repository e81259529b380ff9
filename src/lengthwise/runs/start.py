"""Beginning a run with the trained models of another one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, require
from lengthwise.models import Attention
from lengthwise.randomness import address
from lengthwise.remedies import Keys, Remedy
from lengthwise.remedies.norms import FleetBatchNorm
from lengthwise.training import Fleet, Trainer

INPUTS = 3
"""How many inputs attention is averaged over, as in arXiv 2310.11984."""


@torch.no_grad()
def take_over(fleet: Fleet, path: str) -> None:
    """Give every model of `fleet` the weights of the model of its seed and trial at `path`.

    Weights are matched by name. Those that only the new models have, such as a new remedy's, stay
    as they were drawn; those that only the old ones have are left out. A remedy that is made of the
    old models' attention (`Remedy.from_run`) gets that, and all weights stay as they were drawn.

    Raises:
        InputError: No model of that seed is there, or one of its weights has another shape.
    """
    from lengthwise.runs.folder import RunFolder
    from lengthwise.runs.models import load_trainer

    trainer = load_trainer(RunFolder.open(Path(path)))
    trained = trainer.fleet
    rows = _rows(fleet, trained, path)
    parts = fleet.template.named_modules()
    made = {name: one for name, one in parts if isinstance(one, Remedy) and one.from_run}
    if made:
        _begin(fleet, made, trainer, rows, path)
        return
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


def _begin(
    fleet: Fleet, remedies: dict[str, Remedy], trainer: Trainer, rows: list[int], path: str
) -> None:
    """Give remedies that are made of attention that of the trained models."""
    for index, row in enumerate(rows):
        own = fleet.hyperparameters[index]
        stream = address(own.seed, own.trial, "calibration")
        key = torch.tensor(stream, device=trainer.fleet.device)
        inputs = trainer.task.draw(key, trainer.max_train_length, INPUTS).inputs
        model = trainer.fleet.model(row)
        for name, one in remedies.items():
            # A remedy of a part of the model, such as its decoder, is made of that part.
            part = name.split("remedies", maxsplit=1)[0].rstrip(".")
            weights, distance = last_attention(model, inputs, part)
            for buffer, value in one.begun(weights, distance, key).items():
                place = fleet.buffers[f"{name}.{buffer}"]
                if place.shape[1:] != value.shape:
                    raise InputError(
                        f"start_from = {path!r}: {buffer} of {one.name!r} has shape "
                        f"{tuple(value.shape)} there, expected {tuple(place.shape[1:])}"
                    )
                place[index] = value.to(place)


def last_attention(model: nn.Module, inputs: Any, part: str = "") -> tuple[Tensor, Tensor]:
    """The attention weights of the last layer, and how far its queries stand from its keys.

    Args:
        model: A trained model.
        inputs: What it reads.
        part: The name of the module whose last layer it is (default: the model's).

    Returns:
        `(inputs, heads, queries, keys)`, and distances that broadcast to it.

    Raises:
        InputError: There is no such layer, or it does not attend to a sequence in every pass.
    """
    within = dict(model.named_modules()).get(part)
    layers = [] if within is None else [m for m in within.modules() if isinstance(m, Attention)]
    expected = f"models with attention in {part!r}" if part else "models with attention"
    require(bool(layers), "start_from", type(model).__name__, expected)
    caught: list[tuple[Tensor, Tensor]] = []

    def catch(attention: Attention, given: tuple[Tensor, Tensor, Keys]) -> None:
        x, context, read = given
        read = replace(read, x=x, context=context)
        products = attention.scaled(attention.products(x, context, read), read)
        weights = attention.weights(attention.scores(products, read), read)
        ids = read.query_ids is not None and read.key_ids is not None
        require(ids, "start_from", type(model).__name__, "models whose tokens have one position id")
        distance = read.distance
        if distance.dim() < weights.dim():
            distance = distance.unsqueeze(0)
        caught.append((weights, distance.expand(len(weights), *distance.shape[1:])))

    hook = layers[-1].register_forward_pre_hook(catch)
    model.eval()(inputs)
    hook.remove()
    expected = "models whose last layer attends in every pass to a sequence"
    require(len(caught) == 1, "start_from", type(model).__name__, expected)
    return caught[0]
