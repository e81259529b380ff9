"""What EMA and BEMA share: the clock, the buffers, the state, the exchange of weights."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from lengthwise.averaging import applied as exchange
from lengthwise.averaging.applied import AveragingError, require_live
from lengthwise.averaging.powers import find_power, models_in
from lengthwise.averaging.schedules import Power, Schedule, check_weight
from lengthwise.averaging.storage import make_groups
from lengthwise.averaging.tensors import Model, all_tensors, buffers, plain_name, trainable
from lengthwise.errors import InputError, require, require_name

Weights: TypeAlias = dict[str, Tensor]
EMAPower: TypeAlias = Power | Literal["first"]
BiasPower: TypeAlias = Power | Literal["first"] | None


class Average(ABC):
    """An average of weights while training changes them. `EMA` and `BEMA` are the two kinds.

    Args:
        model: A module, or named tensors that training changes in place.
        ema_powers: Powers of the EMA, of which each costs one copy of the weights.
        bias_powers: Powers of the correction, which are read out of every EMA.
        schedule: When and how much the newest weights count.
        buffer_mode: "copy" or "average": what is done with buffers such as running means.
        offload: The device that keeps the averages; None is that of the model.

    Raises:
        InputError: A power or a setting is out of its range.
        AveragingError: The model carries averaged weights.
    """

    def __init__(
        self,
        model: Model,
        ema_powers: Sequence[Power],
        bias_powers: Sequence[Power],
        schedule: Schedule,
        buffer_mode: str,
        offload: str | torch.device | None,
    ) -> None:
        require_name(buffer_mode, ("average", "copy"), "buffers")
        require_live(model)
        for power in ema_powers:
            check_weight(schedule, power)
        self._model = model
        self.ema_powers = tuple(ema_powers)
        self.bias_powers = tuple(bias_powers)
        self.schedule = schedule
        self._parameters = trainable(model)
        self._averaged = dict(self._parameters)
        if buffer_mode == "average":
            self._averaged |= {n: b for n, b in buffers(model).items() if b.is_floating_point()}
        models = models_in(ema_powers, self._averaged)
        models_in(bias_powers, self._averaged)
        self._one_number = len(ema_powers) == 1 and models is None
        device = None if offload is None else torch.device(offload)
        self._groups = make_groups(self._averaged, len(ema_powers), models or 1, device)
        self._emas = {n: e for g in self._groups for n, e in zip(g.names, g.stacked, strict=True)}
        self._settings: dict[str, Any] = {
            "schedule": schedule.name,
            "lag": schedule.lag,
            "multiplier": schedule.multiplier,
            "start_after": schedule.start_after,
            "update_every": schedule.update_every,
            "min_weight": schedule.min_weight,
            "ema_power": [p.tolist() if isinstance(p, Tensor) else p for p in ema_powers],
            "buffers": buffer_mode,
        }
        self._step = 0
        self._updated_at = 0
        self._hook: RemovableHandle | None = None

    @property
    def step(self) -> int:
        """The optimizer steps seen so far."""
        return self._step

    @property
    def ready(self) -> bool:
        """Whether there is an average: false before the first update."""
        return self._updated_at > 0

    def update(self, step: int | None = None) -> None:
        """Take in the weights after an optimizer step.

        Call it after every optimizer step: the schedule decides what to do with it.

        Args:
            step: The number of optimizer steps taken so far; one more than last time by default.

        Raises:
            AveragingError: An optimizer calls `update` already, since `attach`.
        """
        if self._hook is not None:
            raise AveragingError("this average is attached to an optimizer, which calls update()")
        self._advance(step)

    @torch.no_grad()
    def _advance(self, step: int | None = None) -> None:
        if exchange.anything_carried():
            require_live(self._averaged)
        before = self._step
        if step is None:
            step = before + 1
        elif step <= before:
            raise InputError(f"step = {step}: expected more than {before}, the step seen last")
        self._step = step
        schedule = self.schedule
        # A caller's step may leap over the burn-in's last one.
        if before < schedule.snapshot_step <= step:
            self._restart()
        elif schedule.updates_at(step):
            try:
                self._take_in(step)
            except RuntimeError as error:
                self._require_unmoved(error)
                raise
            self._updated_at = step

    def _take_in(self, step: int) -> None:
        if self._one_number:
            weight = self.schedule.weight(step, self.ema_powers[0])
            for group in self._groups:
                group.update_one(weight)  # type: ignore[arg-type]
        else:
            weights = [self.schedule.weight(step, power) for power in self.ema_powers]
            stacked = _stack(weights)
            for group in self._groups:
                group.update_all(stacked)

    @torch.no_grad()
    def _restart(self) -> None:
        """Begin from the weights as they are now."""
        for group in self._groups:
            group.restart()

    def attach(self, optimizer: Optimizer) -> None:
        """Update after every step of `optimizer`, in the place of calls of `update()`.

        Args:
            optimizer: The optimizer that trains the model.

        Raises:
            AveragingError: It is attached to an optimizer already.
        """
        if self._hook is not None:
            raise AveragingError("this average is attached to an optimizer already: detach() first")
        self._hook = optimizer.register_step_post_hook(lambda *_: self._advance())

    def detach(self) -> None:
        """Undo `attach`."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def state_dict(self) -> dict[str, Tensor]:
        """Everything a resumed training needs, as plain tensors: ready for a safetensors file.

        The tensors are the average's own, as in `torch.nn.Module.state_dict`: clone them to keep
        them in memory while training continues.
        """
        settings = json.dumps(self._settings).encode()
        return {
            "settings": torch.tensor(list(settings), dtype=torch.uint8),
            "step": torch.tensor(self._step),
            "updated_at": torch.tensor(self._updated_at),
            **self._state_tensors(),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on where the average that gave this state stood; nothing changes if it does not fit.

        Args:
            state: What `state_dict` of such an average gave.

        Raises:
            InputError: The state belongs to another model or other settings.
        """
        own = self.state_dict()
        for name, tensor in own.items():
            if name not in state:
                raise InputError(f"state of another model or kind of average: {name} is missing")
            theirs = state[name].shape
            if name != "settings" and theirs != tensor.shape:
                raise InputError(
                    f"state of another model: {name} has shape {tuple(theirs)}, "
                    f"expected {tuple(tensor.shape)}"
                )
        for name in state:
            if name not in own:
                raise InputError(f"state of another model or kind of average: {name} is unknown")
        theirs_settings = json.loads(bytes(state["settings"].tolist()))
        for field, value in self._settings.items():
            given = theirs_settings.get(field)
            require(given == value, f"state's {field}", given, f"{value!r}, as in this average")
        with torch.no_grad():
            for name, tensor in self._state_tensors().items():
                tensor.copy_(state[name])
        self._step = int(state["step"])
        self._updated_at = int(state["updated_at"])

    def _state_tensors(self) -> dict[str, Tensor]:
        return {f"ema.{name}": ema for name, ema in self._emas.items()}

    def grid(self) -> list[tuple[int, int | None]]:
        """Every (EMA position, bias position or None) that `weights_at` and `applied_at` take."""
        biases = [None, *range(len(self.bias_powers))]
        return [(ema, bias) for ema in range(len(self.ema_powers)) for bias in biases]

    def weights(self, ema_power: EMAPower = "first", bias_power: BiasPower = "first") -> Weights:
        """The averaged weights by name, as new tensors in float32 or wider.

        Args:
            ema_power: One of the powers the average was made with.
            bias_power: Any power, or None for the EMA itself.
        """
        return self._read(*self._choose(ema_power, bias_power))

    def weights_at(self, ema_index: int, bias_index: int | None = None) -> Weights:
        """As `weights`, by the positions of the powers; None is the EMA itself.

        Args:
            ema_index: Which of the EMA powers, from 0.
            bias_index: Which of the bias powers, from 0, or None.
        """
        return self._read(*self._choose_at(ema_index, bias_index))

    def applied(
        self, ema_power: EMAPower = "first", bias_power: BiasPower = "first"
    ) -> AbstractContextManager[None]:
        """A context in which the model carries the averaged weights.

        The live weights come back on any exit, bit for bit, and so do the buffers. Contexts of one
        or several averages may be nested.

        Args:
            ema_power: One of the EMA powers; may be left out where there is one only.
            bias_power: One of the bias powers, or None for the EMA itself.

        Raises:
            AveragingError: There is no average yet.
        """
        return self._apply(*self._choose(ema_power, bias_power))

    def applied_at(
        self, ema_index: int, bias_index: int | None = None
    ) -> AbstractContextManager[None]:
        """As `applied`, by the positions of the powers; None is the EMA itself.

        Args:
            ema_index: Which of the EMA powers, from 0.
            bias_index: Which of the bias powers, from 0, or None.
        """
        return self._apply(*self._choose_at(ema_index, bias_index))

    def _choose(self, ema_power: EMAPower, bias_power: BiasPower) -> tuple[int, Power | None]:
        ema_index = 0
        if not isinstance(ema_power, str):
            ema_index = find_power(ema_power, self.ema_powers)
        if isinstance(bias_power, str):
            bias_power = self.bias_powers[0] if self.bias_powers else None
        elif bias_power is not None:
            bias_power = self._check_bias(bias_power)
        return ema_index, bias_power

    def _choose_at(self, ema_index: int, bias_index: int | None) -> tuple[int, Power | None]:
        known = (ema_index, bias_index) in self.grid()
        require(known, "(ema_index, bias_index)", (ema_index, bias_index), "an entry of grid()")
        return ema_index, None if bias_index is None else self.bias_powers[bias_index]

    @abstractmethod
    def _check_bias(self, bias_power: Power) -> Power:
        """A bias power given at read-out, checked."""

    @abstractmethod
    def _value(self, name: str, ema_index: int, bias_power: Power | None) -> Tensor:
        """The averaged weights of one tensor; may be a view of a buffer."""

    @torch.no_grad()
    def _read(self, ema_index: int, bias_power: Power | None) -> Weights:
        self._require_readable()
        return {name: self._value(name, ema_index, bias_power).clone() for name in self._averaged}

    def _apply(self, ema_index: int, bias_power: Power | None) -> AbstractContextManager[None]:
        self._require_readable()
        kept = {n: b for n, b in buffers(self._model).items() if n not in self._averaged}
        return exchange.carrying(
            self._averaged, lambda name: self._value(name, ema_index, bias_power), kept
        )

    def _require_readable(self) -> None:
        if not self.ready:
            first = self.schedule.first_update
            raise AveragingError(
                f"there is no average yet: {self._step} steps seen, the first update is at step "
                f"{first}"
            )
        current = {plain_name(name): tensor for name, tensor in all_tensors(self._model)}
        for name, tensor in self._averaged.items():
            if current.get(name) is not tensor:
                raise AveragingError(
                    f"{name} was replaced by another tensor since the average was made: "
                    "make the average afterwards, or change the tensor in place"
                )

    def _require_unmoved(self, cause: RuntimeError) -> None:
        for name, tensor in self._averaged.items():
            ema = self._emas[name]
            if tensor.shape != ema.shape[1:] or tensor.device != ema.device:
                raise AveragingError(
                    f"{name} is now {tuple(tensor.shape)} on {tensor.device}, its average is "
                    f"{tuple(ema.shape[1:])} on {ema.device}: make the average after moving or "
                    "reshaping the model"
                ) from cause


def _stack(weights: Sequence[Power]) -> Tensor:
    """Weights as a tensor of shape (powers, models), or (powers, 1) without per-model weights."""
    if not any(isinstance(weight, Tensor) for weight in weights):
        return torch.tensor(weights, dtype=torch.float64)[:, None]
    rows = [torch.as_tensor(weight, dtype=torch.float64) for weight in weights]
    return torch.stack(torch.broadcast_tensors(*rows))
