"""When an average is updated, and how much the newest weights count.

Symbols of the BEMA paper (arXiv 2508.00180): kappa is the EMA power, eta the bias power, gamma the
multiplier, rho the lag, tau the burn-in (`start_after`), phi the interval (`update_every`). The
step t is the number of optimizer steps taken so far. Public implementations disagree about the
formulas and the steps; each schedule here is one of them, exactly.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from lengthwise.errors import InputError, require, require_name

Power: TypeAlias = float | Tensor
"""One number, or a 1-D tensor with one entry per model of a fleet."""


@dataclass(frozen=True)
class Schedule(ABC):
    """The settings every schedule shares; subclasses give the formulas."""

    name: str
    """The name by which it is asked for."""
    lag: float
    """Larger makes the first updates count less (rho)."""
    multiplier: float
    """How fast the clock runs (gamma)."""
    start_after: int
    """Steps of burn-in (tau)."""
    update_every: int
    """Steps between two updates (phi)."""
    min_weight: float
    """The least that an update counts."""

    default_min_weight: ClassVar[float] = 0.0
    """The least that an update counts, unless it is said."""
    least_bias_power: ClassVar[float] = 0.0
    """The smallest power of the correction that it takes."""

    @property
    def snapshot_step(self) -> int:
        """The step at which theta_0 and the first EMA are taken."""
        return self.start_after

    @property
    def first_update(self) -> int:
        """The first step that is an update."""
        return self.start_after + self.update_every

    def updates_at(self, step: int) -> bool:
        """Whether the average takes in the weights of this step.

        Args:
            step: Optimizer steps taken so far.
        """
        since = step - self.start_after
        return since > 0 and since % self.update_every == 0

    def weight(self, step: int, ema_power: Power) -> Power:
        """Beta: how much the newest weights count in the EMA.

        Args:
            step: Optimizer steps taken so far.
            ema_power: Power of the EMA.
        """
        beta = self._beta(step, ema_power)
        if isinstance(beta, Tensor):
            return beta.clamp(min=self.min_weight)
        return max(beta, self.min_weight)

    @abstractmethod
    def _beta(self, step: int, ema_power: Power) -> Power: ...

    @abstractmethod
    def correction(self, step: int, bias_power: Power) -> Power:
        """Alpha: how much of theta_t - theta_0 is added to the EMA.

        Args:
            step: Optimizer steps taken so far.
            bias_power: Power of the correction.
        """


class PaperSchedule(Schedule):
    """The paper's formulas, which TRL's callback follows: powers of rho + gamma t."""

    def _beta(self, step: int, ema_power: Power) -> Power:
        return (self.lag + self.multiplier * step) ** -ema_power

    def correction(self, step: int, bias_power: Power) -> Power:
        """Alpha = (rho + gamma t)^-eta; eta = 0 corrects fully for ever."""
        return (self.lag + self.multiplier * step) ** -bias_power


class AuthorsOfflineSchedule(Schedule):
    """The authors' code behind the paper's results: the clock starts at the burn-in."""

    default_min_weight = 1e-4
    least_bias_power = -math.inf

    def _age(self, step: int) -> float:
        return max(step - self.start_after + self.lag, 1)

    def _beta(self, step: int, ema_power: Power) -> Power:
        return (1 + self.multiplier * self._age(step)) ** -ema_power

    def correction(self, step: int, bias_power: Power) -> Power:
        """Alpha = (1 + t - tau + lag)^-eta, without gamma; a negative power means none."""
        alpha = (1 + self._age(step)) ** -bias_power
        return _where(bias_power, bias_power >= 0, alpha, 0.0)


class AuthorsOnlineSchedule(Schedule):
    """The authors' callback since December 2025: flat during the lag, then a decay.

    theta_0 is always the first weights: the burn-in only delays the updates.
    """

    least_bias_power = -math.inf

    @property
    def snapshot_step(self) -> int:
        """Step 0, whatever the burn-in."""
        return 0

    @property
    def first_update(self) -> int:
        """The first step >= max(1, start_after) that is one short of a multiple of the interval."""
        earliest = max(1, self.start_after)
        return earliest + (-(earliest + 1)) % self.update_every

    def updates_at(self, step: int) -> bool:
        """Steps phi - 1, 2 phi - 1, ..."""
        return step >= max(1, self.start_after) and (step + 1) % self.update_every == 0

    def _age(self, step: int) -> float:
        return 1 + max(0, step - self.lag)

    def _beta(self, step: int, ema_power: Power) -> Power:
        beta = self.multiplier * self._age(step) ** -ema_power
        return _where(ema_power, ema_power > 0, beta, 1.0)

    def correction(self, step: int, bias_power: Power) -> Power:
        """Alpha = gamma (1 + max(0, t - lag))^-eta; a power <= 0 means none."""
        alpha = self.multiplier * self._age(step) ** -bias_power
        return _where(bias_power, bias_power > 0, alpha, 0.0)


class ConstantSchedule(Schedule):
    """A constant decay in the place of the EMA power: beta = 1 - decay, and no correction."""

    def _beta(self, step: int, ema_power: Power) -> Power:
        return 1 - ema_power

    def correction(self, step: int, bias_power: Power) -> Power:
        """None."""
        return 0.0


def _where(power: Power, condition: bool | Tensor, value: Power, otherwise: float) -> Power:
    if isinstance(power, Tensor):
        return torch.where(torch.as_tensor(condition), value, otherwise)
    return value if condition else otherwise


SCHEDULES: dict[str, type[Schedule]] = {
    "paper": PaperSchedule,
    "trl": PaperSchedule,
    "authors-offline": AuthorsOfflineSchedule,
    "authors-online": AuthorsOnlineSchedule,
}
"""All schedules by name."""


def make_schedule(
    name: str,
    *,
    lag: float,
    multiplier: float,
    start_after: int,
    update_every: int,
    min_weight: float | None,
    constant: bool = False,
) -> Schedule:
    """Check the settings and make the named schedule, or one of constant decay in its place.

    Args:
        name: "paper", "trl", "authors-offline" or "authors-online".
        lag: Larger makes the first updates count less (rho).
        multiplier: How fast the clock runs (gamma).
        start_after: Steps of burn-in (tau).
        update_every: Steps between two updates (phi).
        min_weight: The least that an update counts; None is what the schedule says.
        constant: Whether the weight of an update stays the same for ever.

    Raises:
        InputError: The name is unknown, or a setting is out of its range.
    """
    require_name(name, SCHEDULES, "schedule")
    require(math.isfinite(lag) and lag >= 0, "lag", lag, "a number >= 0")
    finite = math.isfinite(multiplier)
    require(finite and multiplier > 0, "multiplier", multiplier, "a number > 0")
    _require_whole(start_after, 0, "start_after")
    _require_whole(update_every, 1, "update_every")
    kind = ConstantSchedule if constant else SCHEDULES[name]
    if min_weight is None:
        min_weight = kind.default_min_weight
    require(0 <= min_weight <= 1, "min_weight", min_weight, "a number from 0 to 1")
    name = "constant" if constant else name
    return kind(name, lag, multiplier, start_after, update_every, min_weight)


def _require_whole(value: int, least: int, field: str) -> None:
    """Raise `InputError` unless `value` is a whole number, at least `least`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    require(whole and value >= least, field, value, f"a whole number >= {least}")


def check_weight(schedule: Schedule, power: Power) -> None:
    """Raise `InputError` if the first update would give the newest weights a weight above 1.

    Args:
        schedule: The schedule to check.
        power: Power of the EMA.

    Raises:
        InputError: The first update would count more than once.
    """
    step = schedule.first_update
    beta = schedule.weight(step, power)
    largest = float(beta.max()) if isinstance(beta, Tensor) else beta
    if not 0 <= largest <= 1:
        raise InputError(
            f"lag = {schedule.lag}, multiplier = {schedule.multiplier}: the first update, at step "
            f"{step}, would have weight {largest:.4g}: expected settings that make it at most 1"
        )
