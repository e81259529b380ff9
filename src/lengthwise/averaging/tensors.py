"""Which tensors of a model an average follows, and under which names."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from torch import Tensor, nn

from lengthwise.errors import InputError

Model: TypeAlias = nn.Module | Mapping[str, Tensor]
"""A module, or named tensors that training changes in place."""


def unwrap(module: nn.Module) -> nn.Module:
    """The user's own module inside `torch.compile`, DataParallel and DDP wrappers."""
    while True:
        if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
            module = module.module
        elif isinstance(compiled := getattr(module, "_orig_mod", None), nn.Module):
            module = compiled
        else:
            return module


def trainable(model: Model) -> dict[str, Tensor]:
    """The tensors that training changes, each once, by the names of the unwrapped model."""
    if isinstance(model, nn.Module):
        named: dict[str, Tensor] = {
            plain_name(name): parameter
            for name, parameter in unwrap(model).named_parameters()
            if parameter.requires_grad
        }
    else:
        named = _each_once(model)
    if not named:
        raise InputError(
            "no trainable parameter to average: expected a model with at least one parameter that "
            "requires a gradient (make the average after freezing and unfreezing layers)"
        )
    return named


def buffers(model: Model) -> dict[str, Tensor]:
    """The model's buffers, each once, by the names of the unwrapped model."""
    if not isinstance(model, nn.Module):
        return {}
    return {plain_name(name): buffer for name, buffer in unwrap(model).named_buffers()}


def all_tensors(model: Model) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of the model, trainable or not."""
    if isinstance(model, nn.Module):
        yield from unwrap(model).named_parameters()
        yield from unwrap(model).named_buffers()
    else:
        yield from model.items()


def plain_name(name: str) -> str:
    """The name a tensor would have if nothing were compiled."""
    # A compiled submodule puts its own prefix into the middle of a name.
    return name.replace("_orig_mod.", "")


def _each_once(named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    seen: set[int] = set()
    kept = {}
    for name, tensor in named.items():
        if not (tensor.is_floating_point() or tensor.is_complex()):
            raise InputError(f"{name}: dtype {tensor.dtype} cannot be averaged: expected floats")
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor
    return kept
