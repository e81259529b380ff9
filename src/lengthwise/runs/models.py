"""Single models in and out of files: one of a run's fleet, or a checkpoint of its own."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lengthwise.errors import InputError, require
from lengthwise.files import regular, write_with
from lengthwise.folders import opened
from lengthwise.remedies import Dropout
from lengthwise.runs.description import converted, recipe_from_json, recipe_to_json
from lengthwise.runs.folder import FORMAT, RunFolder
from lengthwise.runs.recipe import Recipe
from lengthwise.training import Hyperparameters, Trainer
from lengthwise.training.devices import require_device

KIND = "lengthwise model 2"
"""Written into the header of a checkpoint, so that no other file passes for one."""

EXPECTED = "a checkpoint of one model, written by save_model"


def load_model(
    path: Path | str,
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

    Raises:
        InputError: There is no such run, model or average, or it brings code along that is not
            trusted.
    """
    path = Path(path)
    if path.is_dir():
        folder = RunFolder.open(path)
        last = len(folder.hyperparameters) - 1
        require(0 <= index <= last, "model", index, f"one of 0..{last}")
        trainer = load_trainer(folder)
        return trained_model(trainer, index, ema_power, bias_power)
    require(path.is_file(), "path", str(path), "a run folder or a checkpoint file")
    require(index == 0, "model", index, "0, as a checkpoint holds one model")
    for field, power in (("ema_power", ema_power), ("bias_power", bias_power)):
        require(power is None, field, power, "none, as a checkpoint holds no averages")
    return _load_file(path)


def files_in(path: Path) -> dict[str, str]:
    """The texts of the Python files inside a run folder or a checkpoint, by key; none is run.

    Raises:
        InputError: It is neither, or damaged.
    """
    if path.is_dir():
        recipe = opened(path, "run", FORMAT, lambda description: description["recipe"])
    else:
        try:
            recipe = json.loads(_read(path)[0]["recipe"])
        except (ValueError, KeyError) as error:
            raise _damaged(path, error) from error
    known: dict[str, Any] = converted(recipe, dict[str, Any], "recipe")
    files: dict[str, str] = converted(known.get("files", {}), dict[str, str], "files")
    return files


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
        recipe = recipe.on("cpu")
    trainer = recipe.trainer(folder.hyperparameters, start=False)
    trainer.load_state_dict(state)
    return trainer


def trained_model(
    trainer: Trainer,
    index: int,
    ema_power: float | None = None,
    bias_power: float | None = None,
) -> nn.Module:
    """Model number `index` of a trainer's fleet, with its last weights or an average of them."""
    if ema_power is None:
        require(bias_power is None, "ema_power", ema_power, "a power, as bias_power is given")
        return trainer.fleet.model(index)
    own = trainer.fleet.hyperparameters[index]
    expected = "one that the run kept: "
    require(ema_power in own.ema_powers, "ema_power", ema_power,
            f"{expected}{own.ema_powers}")  # fmt: skip
    bias_index = None
    if bias_power is not None:
        require(bias_power in own.bias_powers, "bias_power", bias_power,
                f"{expected}{own.bias_powers}")  # fmt: skip
        bias_index = own.bias_powers.index(bias_power)
    assert trainer.average is not None
    averaged = trainer.average.weights_at(own.ema_powers.index(ema_power), bias_index)
    return trainer.fleet.model(index, averaged["weights"])


def save_model(
    model: nn.Module, path: Path | str, recipe: Recipe | None = None, *, overwrite: bool = False
) -> None:
    """Write a model as one safetensors file, which `load_model` reads back.

    Args:
        model: Any model that a recipe built.
        path: The file to write.
        recipe: The recipe, for a model that does not know it.
        overwrite: Whether to replace a file that is there.

    Raises:
        InputError: The file exists, or nothing says how to build the model again.
    """
    path = Path(path)
    require(overwrite or not path.exists(), "path", str(path), "a file that does not exist yet")
    recipe = recipe or getattr(model, "recipe", None)
    if recipe is None:
        raise InputError(
            f"model = {type(model).__name__}: expected one that a recipe built, or its recipe too"
        )
    metadata = {"kind": KIND, "recipe": json.dumps(recipe_to_json(recipe))}
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    write_with(path, lambda temporary: save_file(state, temporary, metadata))


def _load_file(path: Path) -> nn.Module:
    metadata, state = _read(path)
    try:
        model = recipe_from_json(json.loads(metadata["recipe"])).build(Hyperparameters())
        dtype = next(tensor.dtype for tensor in state.values() if tensor.is_floating_point())
        model.to(dtype).load_state_dict(state)
    except InputError as error:
        raise InputError(f"path = {str(path)!r}: {error}") from error
    except (ValueError, KeyError, TypeError, RuntimeError, StopIteration) as error:
        raise _damaged(path, error) from error
    for module in model.modules():
        if isinstance(module, Dropout):
            module.active = bool(module.rate > 0)
    return model.eval()


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Header and tensors of a checkpoint."""
    try:
        with safe_open(regular(path), "pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"path = {str(path)!r}: expected a safetensors file ({error})") from error
    require(metadata.get("kind") == KIND, "path", str(path), EXPECTED)
    return metadata, state


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"path = {str(path)!r}: damaged ({reason}): expected {EXPECTED}")
