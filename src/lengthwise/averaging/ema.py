"""The exponential moving average of weights."""

import torch
from torch import Tensor

from lengthwise.averaging._base import Average
from lengthwise.averaging.powers import Powers, check_powers
from lengthwise.averaging.schedules import Power, make_schedule
from lengthwise.averaging.tensors import Model
from lengthwise.errors import InputError


class EMA(Average):
    """Exponential moving average: `EMA = (1 - beta) EMA + beta weights` after optimizer steps.

    Args:
        model: A module, of which the trainable parameters are averaged, or named tensors that
            training changes in place.
        ema_power: One power or several; beta falls like step^-power. From 0 (no averaging) to 1
            (the running mean). A 1-D tensor is one power per model of a fleet, along the first
            dimension of every tensor.
        decay: A constant decay in the place of a power: beta = 1 - decay.
        schedule: "paper", "trl", "authors-offline" or "authors-online".
        lag: Larger makes the first weights count less (rho).
        multiplier: How fast the clock of the schedule runs (gamma).
        start_after: Steps of burn-in; the average starts from the weights after them (tau).
        update_every: Steps from one update to the next (phi).
        min_weight: The smallest beta; the schedule's own by default.
        buffers: "copy" leaves the model's buffers as they are when averages are applied; "average"
            averages those of floating point too.
        offload: A device to keep the averages on, such as "cpu", instead of beside the weights.
    """

    def __init__(
        self,
        model: Model,
        ema_power: Powers = 0.5,
        *,
        decay: float | None = None,
        schedule: str = "paper",
        lag: float = 10.0,
        multiplier: float = 1.0,
        start_after: int = 0,
        update_every: int = 1,
        min_weight: float | None = None,
        buffers: str = "copy",
        offload: str | torch.device | None = None,
    ) -> None:
        constant = decay is not None
        field, value = ("decay", decay) if decay is not None else ("ema_power", ema_power)
        powers = check_powers(value, field, 0, 1, "a number from 0 to 1")
        made = make_schedule(
            schedule,
            lag=lag,
            multiplier=multiplier,
            start_after=start_after,
            update_every=update_every,
            min_weight=min_weight,
            constant=constant,
        )
        super().__init__(model, powers, (), made, buffers, offload)
        self._restart()

    def _check_bias(self, bias_power: Power) -> Power:
        raise InputError(f"bias_power = {bias_power!r}: an EMA has no correction: use BEMA")

    def _value(self, name: str, ema_index: int, bias_power: Power | None) -> Tensor:
        return self._emas[name][ema_index]
