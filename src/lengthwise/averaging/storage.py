"""Where the EMAs are kept, and the few calls that update them.

All EMAs of a tensor (one per power) lie stacked in one buffer, `(powers, *shape)`: one pass over
the live weights serves every power, and the memory traffic, which is what an update of a large
model costs, stays near its minimum.
"""

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch import Tensor


class Group:
    """Live tensors of one device and dtype, with their EMAs.

    Args:
        named: The live tensors.
        powers: How many EMAs are kept of each.
        models: With one weight per model of a fleet, the number of models, otherwise 1.
        device: Where the EMAs are kept.
    """

    def __init__(
        self, named: Mapping[str, Tensor], powers: int, models: int, device: torch.device
    ) -> None:
        first = next(iter(named.values()))
        # Rounded to bfloat16, an EMA with a small weight would never move.
        dtype = torch.promote_types(first.dtype, torch.float32)
        self.names = list(named)
        self.live = list(named.values())
        self.stacked = [
            torch.empty((powers, *tensor.shape), dtype=dtype, device=device) for tensor in self.live
        ]
        self._single = [buffer[0] for buffer in self.stacked]
        self._direct = (first.dtype, first.device) == (dtype, device)
        self._weight = torch.empty((powers, models), dtype=dtype, device=device)
        self._weight_views = [
            self._weight.view(powers, models, *[1] * (buffer.ndim - 2))
            if buffer.ndim > 1
            else self._weight.view(powers)
            for buffer in self.stacked
        ]

    def restart(self) -> None:
        """Let every EMA be the live weights."""
        for buffer, tensor in zip(self.stacked, self.live, strict=True):
            buffer.copy_(tensor)

    def update_one(self, weight: float) -> None:
        """Move the only EMA towards the live weights."""
        if self._direct:
            torch._foreach_lerp_(self._single, self.live, weight)
        else:
            for average, tensor in zip(self._single, self.live, strict=True):
                average.lerp_(tensor.to(average), weight)

    def update_all(self, weight: Tensor) -> None:
        """Move every EMA by its own weight, a tensor of shape (powers, models)."""
        self._weight.copy_(weight)
        if self._direct:
            torch._foreach_lerp_(self.stacked, self.live, self._weight_views)
        else:
            for average, tensor, view in zip(
                self.stacked, self.live, self._weight_views, strict=True
            ):
                average.lerp_(tensor.to(average), view)


def make_groups(
    named: Mapping[str, Tensor], powers: int, models: int, offload: torch.device | None
) -> list[Group]:
    """Sort the tensors into groups; the EMAs stay on their devices unless offloaded."""
    alike: dict[tuple[torch.device, torch.dtype], dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in named.items():
        alike[tensor.device, tensor.dtype][name] = tensor
    return [
        Group(tensors, powers, models, offload or device) for (device, _), tensors in alike.items()
    ]
