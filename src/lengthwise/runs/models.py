"""Single models in and out of files: one of a run's fleet, or a checkpoint of its own."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from lengthwise.errors import InputError, require
from lengthwise.files import write_with
from lengthwise.models import MinimalTransformer
from lengthwise.remedies import NORMS, SCORES
from lengthwise.runs.folder import RunFolder
from lengthwise.training import Hyperparameters, Trainer
from lengthwise.training.devices import require_device

KIND = "lengthwise minimal transformer 1"
"""Written into the header of a checkpoint, so that no other file passes for one."""


def load_model(
    path: Path,
    index: int = 0,
    *,
    ema_power: float | None = None,
    bias_power: float | None = None,
) -> nn.Module:
    """A model out of a run folder or out of a checkpoint that `save_model` wrote.

    Args:
        path: The folder or the file.
        index: Which model of the run's fleet; a checkpoint has number 0 only.
        ema_power: Take the EMA of this power, which the run must have kept, not the last weights.
        bias_power: Take the BEMA of this power and `ema_power`.
    """
    if path.is_dir():
        folder = RunFolder.open(path)
        last = len(folder.members) - 1
        require(0 <= index <= last, "model", index, f"one of 0..{last}")
        trainer = load_trainer(folder)
        return trained_model(trainer, index, folder.members[index], ema_power, bias_power)
    require(path.is_file(), "path", str(path), "a run folder or a checkpoint file")
    require(index == 0, "model", index, "0, as a checkpoint holds one model")
    for field, power in (("ema_power", ema_power), ("bias_power", bias_power)):
        require(power is None, field, power, "none, as a checkpoint holds no averages")
    return _load_file(path)


def load_trainer(folder: RunFolder) -> Trainer:
    """A run's trainer as its newest checkpoint left it, on the CPU where its device is not here."""
    state = folder.load_checkpoint()
    expected = "a run with a checkpoint ('lengthwise resume' it)"
    require(state is not None, "run", str(folder.path), expected)
    assert state is not None
    recipe = folder.recipe
    try:
        require_device(recipe.device)
    except InputError:
        recipe = dataclasses.replace(recipe, device="cpu")  # type: ignore[type-var]
    trainer = recipe.trainer(folder.members)
    trainer.load_state_dict(state)
    return trainer


def trained_model(
    trainer: Trainer,
    index: int,
    member: Hyperparameters,
    ema_power: float | None = None,
    bias_power: float | None = None,
) -> nn.Module:
    """Model number `index` of a trainer's fleet, with its last weights or an average of them."""
    if ema_power is None:
        require(bias_power is None, "ema_power", ema_power, "a power, as bias_power is given")
        return trainer.fleet.model(index)
    expected = "one that the run kept: "
    require(ema_power in member.ema_powers, "ema_power", ema_power,
            f"{expected}{member.ema_powers}")  # fmt: skip
    bias_index = None
    if bias_power is not None:
        require(bias_power in member.bias_powers, "bias_power", bias_power,
                f"{expected}{member.bias_powers}")  # fmt: skip
        bias_index = member.bias_powers.index(bias_power)
    assert trainer.average is not None
    averaged = trainer.average.weights_at(member.ema_powers.index(ema_power), bias_index)
    return trainer.fleet.model(index, averaged["weights"])


def save_model(model: MinimalTransformer, path: Path, *, overwrite: bool = False) -> None:
    """Write a model as one safetensors file, which `load_model` reads back."""
    require(overwrite or not path.exists(), "path", str(path), "a file that does not exist yet")
    metadata = {"kind": KIND, "settings": json.dumps(_settings(model))}
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    write_with(path, lambda temporary: save_file(state, temporary, metadata))


def _load_file(path: Path) -> MinimalTransformer:
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"path = {str(path)!r}: expected a safetensors file ({error})") from error
    expected = "a checkpoint of a minimal transformer, written by save_model"
    require(metadata.get("kind") == KIND, "path", str(path), expected)
    try:
        model = MinimalTransformer(**json.loads(metadata["settings"]))
        model.to(state["embedding.weight"].dtype).load_state_dict(state)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise InputError(f"path = {str(path)!r}: damaged; expected {expected}") from error
    return model.eval()


def _settings(model: MinimalTransformer) -> dict[str, Any]:
    """The arguments that build a model of this shape."""
    attention = model.attention
    value_width = attention.value.out_features
    norm_width = model.width if attention.norm_place == "after" else value_width
    norms = {repr(make(norm_width, 1)): name for name, make in NORMS.items()}
    scores = {kind: name for name, kind in SCORES.items()}
    return {
        "vocab": model.vocab,
        "extra": model.width - model.vocab + 1,
        "attention": scores[type(attention.score)],
        "key_width": attention.query.out_features,
        "value_width": value_width,
        "pre_norm": isinstance(model.pre_norm, nn.LayerNorm),
        "norm": norms[repr(attention.norm)],
        "norm_place": attention.norm_place,
        "dropout_embedding": float(model.dropout_embedding.rate),
        "dropout_weights": float(attention.dropout_weights.rate),
        "dropout_output": float(attention.dropout_output.rate),
    }
