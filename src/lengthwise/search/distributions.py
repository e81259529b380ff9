"""What a hyper-parameter may be: distributions that turn one uniform number into a value."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from lengthwise.errors import InputError, require

Value = Any
"""What a hyper-parameter can be: a number, a string, or a tuple of them."""


class Distribution(ABC):
    """A distribution, given by the value at each part `u` of its mass: its inverse."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Value, ...]:
        """Values that it can have, at least one of every type."""

    @abstractmethod
    def at(self, u: float) -> Value:
        """The value at `u`, a number in [0, 1)."""

    def another(self, value: Value, u: float) -> Value:
        """A value for the twin of a trial that has `value`: drawn again, if nothing is better."""
        return self.at(u)

    def mapped(self, change: Callable[[Value], Value]) -> "Distribution":
        """The same with `change` done to all values that were given one by one."""
        return self

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Any number of a range, all equally likely.

    Args:
        low: The least value.
        high: What all values stay below.

    Raises:
        InputError: `low` is not less than `high`, or one of them is not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, strict=True)

    @property
    def ends(self) -> tuple[Value, ...]:
        """The ends of the range."""
        return float(self.low), float(self.high)

    def at(self, u: float) -> float:
        """The number at part `u` of the range.

        Args:
            u: Uniform in [0, 1).
        """
        return self.low + (self.high - self.low) * u

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"uniform": [self.low, self.high]}


@dataclass(frozen=True)
class LogUniform(Distribution):
    """A positive number whose logarithm is uniform: as many from 0.1 to 1 as from 1 to 10.

    Args:
        low: The least value, more than 0.
        high: What all values stay below.

    Raises:
        InputError: `low` is not positive or not less than `high`, or one of them is not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, strict=True)
        require(self.low > 0, "LogUniform low", self.low, "a positive number")

    @property
    def ends(self) -> tuple[Value, ...]:
        """The ends of the range."""
        return float(self.low), float(self.high)

    def at(self, u: float) -> float:
        """The number at part `u` of the range of logarithms.

        Args:
            u: Uniform in [0, 1).
        """
        return self.low * (self.high / self.low) ** u

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"log_uniform": [self.low, self.high]}


@dataclass(frozen=True)
class Integers(Distribution):
    """A whole number of a range, all equally likely.

    Args:
        low: The least value.
        high: The greatest value, included.

    Raises:
        InputError: One of them is no whole number, or `low` is greater than `high`.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            whole = isinstance(bound, int) and not isinstance(bound, bool)
            require(whole, "Integers bound", bound, "a whole number")
        _require_range(self, strict=False)

    @property
    def ends(self) -> tuple[Value, ...]:
        """The ends of the range."""
        return self.low, self.high

    def at(self, u: float) -> int:
        """The number at part `u` of the range.

        Args:
            u: Uniform in [0, 1).
        """
        return self.low + int((self.high - self.low + 1) * u)

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"integers": [self.low, self.high]}


class Choice(Distribution):
    """One of several values, such as `Choice("none", "layernorm")`.

    Args:
        values: The values, each once: numbers, strings, or tuples such as `()` and `("rotary",)`.
        weights: How likely each of them is, as positive numbers of any sum; equally by default.

    Raises:
        InputError: No value, one that comes twice, or weights that do not fit.
    """

    def __init__(self, *values: Value, weights: Sequence[float] | None = None) -> None:
        require(len(values) > 0, "Choice", values, "at least one value")
        for place, value in enumerate(values):
            require(value not in values[:place], "Choice", value, "every value once")
        weights = tuple(weights or [1.0] * len(values))
        require(len(weights) == len(values), "Choice weights", weights, f"{len(values)} numbers")
        fits = all(0 < weight < math.inf for weight in weights)
        require(fits, "Choice weights", weights, "positive numbers")
        self.values = values
        self.weights = weights
        self._up_to = [mass / sum(weights) for mass in accumulate(weights)]

    @property
    def ends(self) -> tuple[Value, ...]:
        """All values."""
        return self.values

    def at(self, u: float) -> Value:
        """The value at part `u` of the weights.

        Args:
            u: Uniform in [0, 1).
        """
        return self.values[min(bisect_right(self._up_to, u), len(self.values) - 1)]

    def another(self, value: Value, u: float) -> Value:
        """One of the other values; the same one where there is no other.

        Args:
            value: The value of the other twin.
            u: Uniform in [0, 1).
        """
        others = [i for i, other in enumerate(self.values) if other != value]
        if not others:
            return value
        chosen = Choice(
            *(self.values[i] for i in others), weights=[self.weights[i] for i in others]
        )
        return chosen.at(u)

    def mapped(self, change: Callable[[Value], Value]) -> "Choice":
        """The same with `change` done to all values.

        Args:
            change: What is done to each value.
        """
        return Choice(*map(change, self.values), weights=self.weights)

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"choice": list(self.values), "weights": list(self.weights)}


@dataclass(frozen=True)
class Sometimes(Distribution):
    """Drawn in part of the trials, and one and the same value in the others.

    Args:
        then: What it is drawn from, where it is.
        chance: The part of the trials in which it is, between 0 and 1.
        otherwise: The value in the others.

    Raises:
        InputError: `then` is no distribution, or `chance` no number between 0 and 1.
    """

    then: Distribution
    chance: float = 0.5
    otherwise: Value = 0.0

    def __post_init__(self) -> None:
        _require_distribution(self.then, "Sometimes")
        require(0 < self.chance < 1, "Sometimes chance", self.chance, "a number between 0 and 1")

    @property
    def ends(self) -> tuple[Value, ...]:
        """Those of `then`, and `otherwise`."""
        return *self.then.ends, self.otherwise

    def at(self, u: float) -> Value:
        """`then` below `chance`, `otherwise` above it.

        Args:
            u: Uniform in [0, 1).
        """
        return self.then.at(u / self.chance) if u < self.chance else self.otherwise

    def another(self, value: Value, u: float) -> Value:
        """Switched: a twin has it if the other has not, and has not if the other has.

        Args:
            value: The value of the other twin.
            u: Uniform in [0, 1).
        """
        return self.then.at(u) if value == self.otherwise else self.otherwise

    def mapped(self, change: Callable[[Value], Value]) -> "Sometimes":
        """The same with `change` done to all values.

        Args:
            change: What is done to each value.
        """
        return Sometimes(self.then.mapped(change), self.chance, change(self.otherwise))

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        then = self.then.describe()
        return {"sometimes": then, "chance": self.chance, "otherwise": self.otherwise}


@dataclass(frozen=True)
class When:
    """Drawn only where another hyper-parameter has a certain value.

    Args:
        name: The other hyper-parameter, which stands before this one in the space.
        equals: The value that it must have.
        then: What this one is drawn from then.
        otherwise: The value of this one where the other has another value.

    Raises:
        InputError: `then` is no distribution.
    """

    name: str
    equals: Value
    then: Distribution
    otherwise: Value

    def __post_init__(self) -> None:
        _require_distribution(self.then, "When")

    @property
    def ends(self) -> tuple[Value, ...]:
        """Values that it can have, at least one of every type."""
        return *self.then.ends, self.otherwise

    def mapped(self, change: Callable[[Value], Value]) -> "When":
        """The same with `change` done to all values of this hyper-parameter.

        Args:
            change: What is done to each value.
        """
        return replace(self, then=self.then.mapped(change), otherwise=change(self.otherwise))

    def describe(self) -> dict[str, Any]:
        """The condition as JSON values."""
        then = self.then.describe()
        return {"when": {self.name: self.equals}, "then": then, "otherwise": self.otherwise}


def _require_distribution(given: object, field: str) -> None:
    require(isinstance(given, Distribution), field, given, "a distribution, such as Uniform(0, 1)")


def _require_range(range_: Any, *, strict: bool) -> None:
    """Raise `InputError` unless the bounds are finite and in order."""
    kind, low, high = type(range_).__name__, range_.low, range_.high
    numbers = all(isinstance(bound, int | float) and math.isfinite(bound) for bound in (low, high))
    require(numbers, kind, (low, high), "two finite numbers")
    if low > high:
        raise InputError(f"{kind}({low!r}, {high!r}): inverted: expected low < high")
    if strict and low == high:
        raise InputError(f"{kind}({low!r}, {high!r}): empty: expected low < high")
