"""Letting a model carry averaged weights for a while, and knowing that it does.

The weights are exchanged in place, so views of them (a fleet's flat parameters, compiled graphs,
DDP buckets) stay valid. A registry of the storages that carry averages lets every other part ask
for the live weights behind them, or refuse to continue.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor

from lengthwise.averaging.tensors import Model, all_tensors


class AveragingError(RuntimeError):
    """What was asked of an average cannot be done now; the message says why."""


_Storage: TypeAlias = tuple[torch.device, int]
# Per storage, innermost last: a tensor that carries an average and what it held before.
_carried: dict[_Storage, list[tuple[Tensor, Tensor]]] = {}


def anything_carried() -> bool:
    """Whether any tensor of any model carries an average now."""
    return bool(_carried)


def live(tensor: Tensor) -> Tensor:
    """The weights that training works on: the tensor itself, or what it held before `carrying`."""
    layers = _carried.get(_storage(tensor)) if _carried else None
    if not layers:
        return tensor
    for carrier, held in layers:
        if carrier is tensor or _same_view(carrier, tensor):
            return held
    raise AveragingError(
        "these weights carry another average through a different view; leave its applied() first"
    )


def require_live(model: Model) -> None:
    """Raise `AveragingError` if any tensor carries averaged weights: call it before saving.

    Args:
        model: A module, or named tensors.

    Raises:
        AveragingError: A tensor carries averaged weights.
    """
    if not _carried:
        return
    for name, tensor in all_tensors(model):
        if _storage(tensor) in _carried:
            raise AveragingError(
                f"{name} carries averaged weights inside applied(): they must not be saved or "
                "trained as live weights; leave the applied() block first"
            )


@contextmanager
def carrying(
    tensors: Mapping[str, Tensor], value: Callable[[str], Tensor], keep: Mapping[str, Tensor]
) -> Iterator[None]:
    """Let `tensors` hold `value(name)`; on any exit they and `keep` are as before, bit for bit."""
    with torch.no_grad():
        before = [(tensor, tensor.clone()) for tensor in (*tensors.values(), *keep.values())]
    # Tensors without elements share the empty storage, and have nothing to tell apart.
    carriers = [pair for pair in before[: len(tensors)] if pair[0].numel() > 0]
    storages = [_storage(tensor) for tensor, _ in carriers]
    for storage, pair in zip(storages, carriers, strict=True):
        _carried.setdefault(storage, []).append(pair)
    try:
        with torch.no_grad():
            for name, tensor in tensors.items():
                tensor.copy_(value(name))
        yield
    finally:
        with torch.no_grad():
            for tensor, held in before:
                tensor.copy_(held)
        for storage in storages:
            _carried[storage].pop()
            if not _carried[storage]:
                del _carried[storage]


def _storage(tensor: Tensor) -> _Storage:
    return tensor.device, tensor.untyped_storage().data_ptr()


def _same_view(a: Tensor, b: Tensor) -> bool:
    return (a.storage_offset(), a.shape, a.stride()) == (b.storage_offset(), b.shape, b.stride())
