"""What a fleet asks of its models: one code, one shape, and no numbers of torch's generator."""

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from lengthwise.errors import InputError
from lengthwise.remedies import Dropout

_INSTEAD = "use lengthwise.remedies.Dropout, whose masks are addressed by (key, step, element)"

_PLAIN = frozenset(vars(nn.Module()))
"""Attributes that every module has."""


def require_alike(models: Sequence[nn.Module]) -> None:
    """Raise `InputError` unless all models run the same code on tensors of the same shapes.

    A fleet runs every model with the code of the first one, so modules must be of the same types
    with the same settings. What may differ are the values of parameters and buffers.
    """
    for index, model in enumerate(models):
        _require_no_dropout(model, index)
        _require_same(_tensors(models[0]), _tensors(model), index, "one shape")
        _require_same(_code(models[0]), _code(model), index, "one code")


@contextmanager
def require_no_generator() -> Iterator[None]:
    """Raise `InputError` if a forward pass draws from torch's generator: it could not be repeated.

    Random numbers of a fleet are addressed, so that a model trains alike alone, in any fleet and
    after a resume.
    """
    before = torch.default_generator.get_state()
    try:
        yield
    except RuntimeError as error:
        if "randomness" not in str(error):
            raise
        drawn = True
    else:
        drawn = not torch.equal(before, torch.default_generator.get_state())
    if drawn:
        raise InputError(
            f"model: its forward pass draws from torch's random generator; {_INSTEAD}"
        )


def _require_no_dropout(model: nn.Module, index: int) -> None:
    for name, module in model.named_modules():
        rate = getattr(module, "p" if isinstance(module, _DropoutNd) else "dropout", 0.0)
        draws = isinstance(rate, float) and rate > 0
        if isinstance(module, nn.RReLU) or (draws and type(module).__module__.startswith("torch.")):
            raise InputError(
                f"models[{index}].{name} = {module}: expected no randomness of torch's own; "
                f"{_INSTEAD}"
            )


def _tensors(model: nn.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, parameter in model.named_parameters():
        found[f"parameter {name!r}"] = tuple(parameter.shape)
    for name, buffer in model.named_buffers():
        found[f"buffer {name!r}"] = (tuple(buffer.shape), str(buffer.dtype))
    return found


def _code(model: nn.Module) -> dict[str, Any]:
    """What says which code runs: types of all modules, and their settings that are no tensors."""
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        found[f"module {name!r}"] = type(module)
        for field, value in vars(module).items():
            # A fleet switches dropouts on and off by itself, for all of its models.
            if field in _PLAIN or (field == "active" and isinstance(module, Dropout)):
                continue
            found[f"{name}.{field}".lstrip(".")] = value
    return found


def _require_same(first: dict[str, Any], other: dict[str, Any], index: int, what: str) -> None:
    for name in (*first, *(name for name in other if name not in first)):
        one, own = first.get(name, "absent"), other.get(name, "absent")
        if own is not one and not _equal(own, one):
            raise InputError(
                f"models[{index}]: {name} is {_shown(own)}, expected {_shown(one)} as in "
                f"models[0]: a fleet has {what}"
            )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and (
            one.shape == other.shape and bool((one == other).all())
        )
    if isinstance(one, types.FunctionType) and isinstance(other, types.FunctionType):
        closures = [
            [cell.cell_contents for cell in f.__closure__ or ()] for f in (one, other)
        ]
        return one.__code__ is other.__code__ and closures[0] == closures[1]
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)
