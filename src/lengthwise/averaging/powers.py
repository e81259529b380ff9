"""Powers as users give them: one or several, each a number or one number per model."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TypeAlias

import torch
from torch import Tensor

from lengthwise.averaging.schedules import Power
from lengthwise.errors import InputError, require

Powers: TypeAlias = Power | Sequence[Power]
"""One power or several."""


def check_powers(
    powers: Powers, field: str, least: float, most: float, expected: str
) -> list[Power]:
    """A list of powers as floats and float64 tensors, each within `least` and `most`."""
    one = isinstance(powers, Real | Tensor)
    given = [powers] if one else list(powers) if isinstance(powers, Iterable) else []
    require(len(given) > 0 and not isinstance(powers, str), field, powers, expected)
    return [_check(power, field, least, most, expected) for power in given]  # type: ignore[arg-type]


def _check(power: Power, field: str, least: float, most: float, expected: str) -> Power:
    if isinstance(power, Tensor):
        per_model = f"{expected} (or a 1-D tensor of them, one per model)"
        require(power.ndim == 1 and len(power) > 0, field, power, per_model)
        power = power.detach().to(device="cpu", dtype=torch.float64)
        inside = (power >= least) & (power <= most) & power.isfinite()
        for value in power[~inside].tolist():
            require(False, field, value, expected)
        return power
    number = isinstance(power, Real) and not isinstance(power, bool)
    require(number and least <= power <= most and abs(power) < float("inf"), field, power, expected)
    return float(power)


def models_in(powers: Sequence[Power], named: Mapping[str, Tensor]) -> int | None:
    """How many models the powers speak of; None if there is one for all."""
    counts = {len(power) for power in powers if isinstance(power, Tensor)}
    if not counts:
        return None
    if len(counts) > 1:
        raise InputError(f"powers per model have differing lengths {sorted(counts)}: expected one")
    (models,) = counts
    for name, tensor in named.items():
        if tensor.ndim == 0 or len(tensor) != models:
            raise InputError(
                f"{name} has shape {tuple(tensor.shape)}: expected a first dimension of {models}, "
                "because the powers are given per model"
            )
    return models


def find_power(power: Power, kept: Sequence[Power]) -> int:
    """The position of an EMA power among those that are kept."""
    for index, candidate in enumerate(kept):
        if isinstance(candidate, Tensor) or isinstance(power, Tensor):
            if torch.equal(torch.as_tensor(candidate), torch.as_tensor(power, dtype=torch.float64)):
                return index
        elif candidate == power:
            return index
    listed = [power.tolist() if isinstance(power, Tensor) else power for power in kept]
    raise InputError(f"ema_power = {power!r}: no EMA is kept for it: expected one of {listed}")
