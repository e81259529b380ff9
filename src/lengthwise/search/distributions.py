"""What a hyper-parameter may be: distributions that turn one uniform number into a value."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lengthwise.errors import InputError, require

Value = Any
"""What a hyper-parameter can be: a number, a string, or a tuple of them."""


class Distribution(ABC):
    """A distribution, given by the value at each part `u` of its mass: its inverse."""

    @abstractmethod
    def at(self, u: float) -> Value:
        """The value at `u`, a number in [0, 1)."""

    def another(self, value: Value, u: float) -> Value:
        """A value for the twin of a trial that has `value`: drawn again, if nothing is better."""
        return self.at(u)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""


@dataclass(frozen=True)
class Uniform(Distribution):
    """Any number from `low` up to `high`, all equally likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, strict=True)

    def at(self, u: float) -> float:
        """The number at part `u` of the range."""
        return self.low + (self.high - self.low) * u

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"uniform": [self.low, self.high]}


@dataclass(frozen=True)
class LogUniform(Distribution):
    """A positive number whose logarithm is uniform: as many from 0.1 to 1 as from 1 to 10."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, strict=True)
        require(self.low > 0, "LogUniform low", self.low, "a positive number")

    def at(self, u: float) -> float:
        """The number at part `u` of the range of logarithms."""
        return self.low * (self.high / self.low) ** u

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"log_uniform": [self.low, self.high]}


@dataclass(frozen=True)
class Integers(Distribution):
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            whole = isinstance(bound, int) and not isinstance(bound, bool)
            require(whole, "Integers bound", bound, "a whole number")
        _require_range(self, strict=False)

    def at(self, u: float) -> int:
        """The number at part `u` of the range."""
        return self.low + int((self.high - self.low + 1) * u)

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"integers": [self.low, self.high]}


class Choice(Distribution):
    """One of several values: `Choice("none", "layernorm")`, or with weights that need not be 1."""

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

    def at(self, u: float) -> Value:
        """The value at part `u` of the weights."""
        return self.values[min(bisect_right(self._up_to, u), len(self.values) - 1)]

    def another(self, value: Value, u: float) -> Value:
        """One of the other values; the same one where there is no other."""
        others = [i for i, other in enumerate(self.values) if other != value]
        if not others:
            return value
        chosen = Choice(
            *(self.values[i] for i in others), weights=[self.weights[i] for i in others]
        )
        return chosen.at(u)

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        return {"choice": list(self.values), "weights": list(self.weights)}


@dataclass(frozen=True)
class Sometimes(Distribution):
    """`otherwise` (default 0) for a part `1 - chance` of the trials, `then` for the rest."""

    then: Distribution
    chance: float = 0.5
    otherwise: Value = 0.0

    def __post_init__(self) -> None:
        _require_distribution(self.then, "Sometimes")
        require(0 < self.chance < 1, "Sometimes chance", self.chance, "a number between 0 and 1")

    def at(self, u: float) -> Value:
        """`then` below `chance`, `otherwise` above it."""
        return self.then.at(u / self.chance) if u < self.chance else self.otherwise

    def another(self, value: Value, u: float) -> Value:
        """Switched: a twin has it if the other has not, and has not if the other has."""
        return self.then.at(u) if value == self.otherwise else self.otherwise

    def describe(self) -> dict[str, Any]:
        """The distribution as JSON values."""
        then = self.then.describe()
        return {"sometimes": then, "chance": self.chance, "otherwise": self.otherwise}


@dataclass(frozen=True)
class When:
    """`then` where hyper-parameter `name` has the value `equals`, `otherwise` where it has not."""

    name: str
    equals: Value
    then: Distribution
    otherwise: Value

    def __post_init__(self) -> None:
        _require_distribution(self.then, "When")

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
