"""Compiled code as an operation of torch's, so that a traced pass can hold it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Filler = Callable[..., None]
"""Takes tensors and numbers, and fills in the last of the tensors."""

_LIBRARY = torch.library.Library("lengthwise", "DEF")
_LIBRARY.define("fill(int filler, Tensor[] given, Tensor(a!)[] made, float[] numbers) -> ()")
_FILLERS: list[Filler] = []


def fill(filler: Filler, given: Sequence[Tensor], made: Sequence[Tensor], *numbers: float) -> None:
    """Call `filler(*given, *made, *numbers)`, which fills in the tensors `made`.

    Compiled code asks for the numbers of a tensor, which it does not have yet while a pass is
    traced: the call is then noted, as one operation.

    Args:
        filler: A function of a module, the same at every call.
        given: What it reads.
        made: What it writes, and nothing else; made for this call.
        *numbers: Further arguments.
    """
    if all(type(one) is Tensor for one in made):
        filler(*given, *made, *numbers)
        return
    if filler not in _FILLERS:
        _FILLERS.append(filler)
    torch.ops.lengthwise.fill(
        _FILLERS.index(filler), list(given), list(made), list(map(float, numbers))
    )


def _run(filler: int, given: list[Tensor], made: list[Tensor], numbers: list[float]) -> None:
    _FILLERS[filler](*given, *made, *numbers)


def _noted(*_: Any) -> None:
    """What a trace does: the shapes are known already."""


_LIBRARY.impl("fill", _run, "CPU")
torch.library.register_fake("lengthwise::fill", _noted, lib=_LIBRARY)
