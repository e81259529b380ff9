"""What a fleet asks of its models: one code, one shape, and no numbers of torch's generator."""

import functools
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

_PARTIAL = ("func", "args", "keywords")

_PLAIN = frozenset(vars(nn.Module()))
"""Attributes that every module has."""


def require_alike(models: Sequence[nn.Module]) -> None:
    """Raise `InputError` unless all models run the same code on tensors of the same shapes.

    A fleet runs every model with the code of the first one, so modules must be of the same types
    with the same settings. What may differ are the values of parameters and buffers.
    """
    tensors, code = _tensors(models[0]), _code(models[0])
    for index, model in enumerate(models):
        _require_no_dropout(model, index)
        if len(models) > 1:
            _require_no_recurrence(model, index)
        _require_trained(model, index)
        if model.training != models[0].training:
            raise InputError(f"models[{index}].training = {model.training}: expected one for all")
        _require_same(tensors, _tensors(model), index, "one shape")
        _require_same(code, _code(model), index, "one code")


@contextmanager
def require_no_generator(device: torch.device) -> Iterator[None]:
    """Raise `InputError` if a forward pass draws from torch's generator: it could not be repeated.

    Random numbers of a fleet are addressed, so that a model trains alike alone, in any fleet and
    after a resume.
    """
    before = _states(device)
    try:
        yield
    except RuntimeError as error:
        if "randomness" not in str(error):
            raise
        drawn = True
    else:
        drawn = not all(map(torch.equal, before, _states(device)))
    if drawn:
        raise InputError(f"model: its forward pass draws from torch's random generator; {_INSTEAD}")


def _states(device: torch.device) -> list[torch.Tensor]:
    """Where the generators stand that a forward pass on `device` could draw from."""
    states = [torch.default_generator.get_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def _require_no_dropout(model: nn.Module, index: int) -> None:
    for name, module in model.named_modules():
        rate = getattr(module, "p" if isinstance(module, _DropoutNd) else "dropout", 0.0)
        draws = isinstance(rate, float) and rate > 0
        if isinstance(module, nn.RReLU) or (draws and type(module).__module__.startswith("torch.")):
            kind = type(module).__name__
            raise InputError(
                f"{_place(index, name)} = {kind}{f'({rate})' if draws else ''}: expected no "
                f"randomness of torch's own; {_INSTEAD}"
            )


def _require_no_recurrence(model: nn.Module, index: int) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.RNNBase):
            raise InputError(
                f"{_place(index, name)} = {type(module).__name__}: expected a loop over its cell, "
                "as vmap cannot follow torch's own, or one model at a time"
            )


def _require_trained(model: nn.Module, index: int) -> None:
    """A fleet trains all parameters, so one that is frozen would not stay as it is."""
    for name, parameter in model.named_parameters():
        expected = "a parameter that is trained; register what stays fixed as a buffer"
        frozen = "frozen (requires_grad = False)"
        if not parameter.requires_grad:
            raise InputError(f"{_place(index, name)} = {frozen}: expected {expected}")


def _tensors(model: nn.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, parameter in model.named_parameters():
        found[f"parameter {name!r}"] = (tuple(parameter.shape), str(parameter.dtype))
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
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for number, hook in enumerate(hooks.values()):
                found[f"hook {number} of module {name!r}"] = hook
    return found


def _require_same(first: dict[str, Any], other: dict[str, Any], index: int, what: str) -> None:
    for name in (*first, *(name for name in other if name not in first)):
        one, own = first.get(name, "absent"), other.get(name, "absent")
        if not _equal(one, own):
            raise InputError(
                f"models[{index}]: {name} is {_shown(own)}, expected {_shown(one)} as in "
                f"models[0]: a fleet has {what}"
            )


def _equal(one: Any, other: Any) -> bool:
    """Whether two settings are the same; whatever cannot be compared is not."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    match one:
        case torch.Tensor():
            return one.shape == other.shape and bool((one == other).all())
        case list() | tuple():
            return len(one) == len(other) and all(map(_equal, one, other))
        case dict():
            return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
        case functools.partial():
            return all(_equal(getattr(one, n), getattr(other, n)) for n in _PARTIAL)
        case types.FunctionType():
            return one.__code__ is other.__code__ and all(
                _equal(getattr(one, name), getattr(other, name))
                for name in ("__defaults__", "__kwdefaults__", "__closure__")
            )
        case types.CellType():
            return _equal(one.cell_contents, other.cell_contents)
        case types.MethodType():
            # What it is bound to is compared where it stands.
            same = isinstance(one.__self__, nn.Module) or _equal(one.__self__, other.__self__)
            return same and _equal(one.__func__, other.__func__)
    try:
        if bool(one == other):
            return True
    except (RuntimeError, ValueError):  # arrays
        return bool((one == other).all())
    own = type(one).__eq__ is not object.__eq__ or isinstance(one, nn.Module)
    return not own and bool(_attributes(one)) and _equal(_attributes(one), _attributes(other))


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of a plain object, such as a configuration."""
    return getattr(value, "__dict__", {})


def _place(index: int, name: str) -> str:
    return f"models[{index}].{name}".rstrip(".")


def _shown(value: Any) -> str:
    shown = value.__name__ if isinstance(value, type) else " ".join(repr(value).split())
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
