"""The bias-corrected exponential moving average of weights."""

import math

import torch
from torch import Tensor

from lengthwise.averaging._base import Average
from lengthwise.averaging.applied import live
from lengthwise.averaging.powers import Powers, check_powers, models_in
from lengthwise.averaging.schedules import Power, make_schedule
from lengthwise.averaging.tensors import Model


class BEMA(Average):
    """Bias-corrected EMA (arXiv 2508.00180): `EMA + alpha (weights - first weights)`.

    The correction takes away the EMA's lag behind weights that still move. It enters only when
    the average is read, so any number of bias powers comes from the same buffers.

    Args:
        model: A module, of which the trainable parameters are averaged, or named tensors that
            training changes in place.
        ema_power: One power or several; beta falls like step^-power. From 0 (no averaging) to 1
            (the running mean). A 1-D tensor is one power per model of a fleet, along the first
            dimension of every tensor.
        bias_power: One power or several; alpha falls like step^-power. At least 0; the authors'
            schedules take negative ones for no correction.
        schedule: "paper", "trl", "authors-offline" or "authors-online".
        lag: Larger makes the first weights and the first corrections count less (rho).
        multiplier: How fast the clock of the schedule runs (gamma).
        start_after: Steps of burn-in; the average starts from the weights after them (tau).
        update_every: Steps from one update to the next (phi). With 1, the average is read with the
            live weights: read it after `update()`, before the next optimizer step.
        min_weight: The smallest beta; the schedule's own by default.
        buffers: "copy" leaves the model's buffers as they are when averages are applied; "average"
            keeps the EMA (never corrected) of those of floating point too.
        offload: A device to keep the averages on, such as "cpu", instead of beside the weights.
    """

    def __init__(
        self,
        model: Model,
        ema_power: Powers = 0.5,
        bias_power: Powers = 0.2,
        *,
        schedule: str = "paper",
        lag: float = 10.0,
        multiplier: float = 1.0,
        start_after: int = 0,
        update_every: int = 1,
        min_weight: float | None = None,
        buffers: str = "copy",
        offload: str | torch.device | None = None,
    ) -> None:
        made = make_schedule(
            schedule,
            lag=lag,
            multiplier=multiplier,
            start_after=start_after,
            update_every=update_every,
            min_weight=min_weight,
        )
        self._least_bias_power = made.least_bias_power
        ema_powers = check_powers(ema_power, "ema_power", 0, 1, "a number from 0 to 1")
        super().__init__(model, ema_powers, self._bias(bias_power), made, buffers, offload)
        self._first = self._room()
        # With an update at every step the live weights are the latest ones.
        self._latest = self._room() if update_every > 1 else {}
        self._restart()

    def _bias(self, bias_power: Powers) -> list[Power]:
        least = self._least_bias_power
        expected = "a number >= 0, or None for no correction" if least == 0 else "a number"
        return check_powers(bias_power, "bias_power", least, math.inf, expected)

    def _room(self) -> dict[str, Tensor]:
        """Uninitialised copies of the parameters: exact in the parameters' own dtype."""
        return {
            name: torch.empty_like(
                tensor,
                device=self._emas[name].device,
                memory_format=torch.contiguous_format,
                requires_grad=False,
            )
            for name, tensor in self._parameters.items()
        }

    @torch.no_grad()
    def _restart(self) -> None:
        super()._restart()
        for name, tensor in self._parameters.items():
            self._first[name].copy_(tensor)
            if self._latest:
                self._latest[name].copy_(tensor)

    def _take_in(self, step: int) -> None:
        super()._take_in(step)
        for name, latest in self._latest.items():
            latest.copy_(self._parameters[name])

    def _state_tensors(self) -> dict[str, Tensor]:
        state = super()._state_tensors()
        state |= {f"first.{name}": tensor for name, tensor in self._first.items()}
        state |= {f"latest.{name}": tensor for name, tensor in self._latest.items()}
        return state

    def _check_bias(self, bias_power: Power) -> Power:
        powers = self._bias(bias_power)
        models_in(powers, self._parameters)
        return powers[0]

    def _value(self, name: str, ema_index: int, bias_power: Power | None) -> Tensor:
        ema = self._emas[name][ema_index]
        # A corrected buffer could leave its range, as a variance below zero.
        if bias_power is None or name not in self._parameters:
            return ema
        alpha = self.schedule.correction(self._updated_at, bias_power)
        latest = self._latest[name] if self._latest else live(self._parameters[name])
        moved = latest.to(ema) - self._first[name].to(ema)
        if isinstance(alpha, Tensor):
            return ema + alpha.to(ema).view(-1, *[1] * (ema.ndim - 1)) * moved
        return torch.add(ema, moved, alpha=alpha)
