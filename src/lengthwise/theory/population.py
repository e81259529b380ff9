"""What attention gives out when its items are drawn at random (arXiv 2504.02827, Proposition 1)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from lengthwise.errors import require


@dataclass(frozen=True)
class Population:
    """One query over items that are drawn independently from a finite vocabulary.

    With N items the output is O = sum_n e_n V_n / sum_n e_n, where e = exp(score). All that follows
    is about O as the items vary; everything is float64.
    """

    scores: Tensor
    """The query's score of every item of the vocabulary, `(items,)`."""
    values: Tensor
    """`(items, features)`."""
    probabilities: Tensor
    """How often each item is drawn, `(items,)`; sums to 1."""

    def __post_init__(self) -> None:
        count = len(self.scores)
        for name in ("scores", "values", "probabilities"):
            tensor = getattr(self, name).detach().to("cpu", torch.float64)
            object.__setattr__(self, name, tensor)
            require(bool(tensor.isfinite().all()), name, tensor.tolist(), "finite numbers")
            require(len(tensor) == count, name, len(tensor), f"one entry per item, {count}")
        total = float(self.probabilities.sum())
        fits = bool((self.probabilities >= 0).all()) and abs(total - 1) < 1e-6
        require(fits, "probabilities", self.probabilities.tolist(), "a distribution")

    @classmethod
    def of(
        cls, query: Tensor, keys: Tensor, values: Tensor, probabilities: Tensor | None = None
    ) -> Self:
        """From a query `(width,)` and the keys `(items, width)`; uniform unless said otherwise.

        Args:
            query: The query.
            keys: A key per kind of item.
            values: A value per kind of item, `(items, features)`.
            probabilities: How likely each kind is; None is equally.
        """
        scores = keys.to(torch.float64) @ query.to(torch.float64) * len(query) ** -0.5
        uniform = torch.full((len(keys),), 1 / len(keys), dtype=torch.float64)
        return cls(scores, values, uniform if probabilities is None else probabilities)

    @property
    def _weights(self) -> Tensor:
        """e, scaled so that its mean over the population is 1."""
        weights = (self.scores - self.scores.max()).exp()
        return weights / (self.probabilities @ weights)

    @property
    def limit(self) -> Tensor:
        """What the output tends to: mu = E[e V] / E[e], `(features,)`."""
        return (self.probabilities * self._weights) @ self.values

    def mean(self, count: int) -> Tensor:
        """Mean of the output over draws of `count` items, up to terms of 1/count^2.

        mu - E[e^2 (V - mu)] / (count E[e]^2): the second term is how the mean drifts.

        Args:
            count: How many items attention reads.
        """
        _check(count)
        drift = (self.probabilities * self._weights**2) @ (self.values - self.limit)
        return self.limit - drift / count

    def variance(self, count: int) -> Tensor:
        """Variance of each feature over draws of `count` items, up to terms of 1/count^2.

        E[e^2 (V - mu)^2] / (count E[e]^2), whatever the mean of V: slope -1/2 for the deviation.

        Args:
            count: How many items attention reads.
        """
        _check(count)
        spread = (self.probabilities * self._weights**2) @ (self.values - self.limit) ** 2
        return spread / count

    def exact_moments(self, count: int) -> tuple[Tensor, Tensor]:
        """Mean and variance of each feature over draws of `count` items, exact at any count (ours).

        1/S = int exp(-t S) dt and 1/S^2 = int t exp(-t S) dt turn the ratio of sums into sums, and
        the items are independent: with f_k(t) = E[(e V)^k exp(-t e)] and V taken from its limit,

            E[O] = int N f_1 f_0^(N-1) dt,
            E[O^2] = int t (N f_2 f_0^(N-1) + N (N-1) f_1^2 f_0^(N-2)) dt.

        Args:
            count: How many items attention reads.
        """
        _check(count)
        drawn = self.probabilities > 0
        weights, chances = self._weights[drawn], self.probabilities[drawn]
        values = (self.values - self.limit)[drawn]
        # Equal steps in log t: smooth, next to zero at both ends, so a plain sum is precise.
        first, last = (1e-9 / weights.max() / count).log(), (800 / weights.min()).log()
        x = torch.linspace(float(first), float(last), 4001, dtype=torch.float64)
        times, step = x.exp().unsqueeze(1), float(x[1] - x[0])
        faded = chances * (-times * weights).exp()
        log_f0 = faded.sum(1, keepdim=True).log().clamp(min=-1e5)  # finite, for a power of 0
        f1, f2 = (
            faded @ (weights.unsqueeze(1) * values),
            faded @ (weights.unsqueeze(1) * values) ** 2,
        )
        others, but_two = ((count - 1) * log_f0).exp(), (max(count - 2, 0) * log_f0).exp()
        mean = (times * count * f1 * others).sum(0) * step
        pairs = count * (count - 1) * f1**2 * but_two
        square = (times**2 * (count * f2 * others + pairs)).sum(0) * step
        return self.limit + mean, square - mean**2

    @property
    def global_variance_limit(self) -> float:
        """What the variance across the features of one output tends to: that of mu, not 0."""
        return float(self.limit.var(correction=0))

    def sample(self, count: int, draws: int, seed: int = 0) -> Tensor:
        """Outputs for `draws` independent draws of `count` items: `(draws, features)`.

        Args:
            count: How many items attention reads.
            draws: How many draws.
            seed: Seed of the draws.

        Raises:
            InputError: There are fewer than 2 draws.
        """
        _check(count)
        require(draws >= 2, "draws", draws, "at least 2")
        generator = np.random.default_rng((seed, count))
        # How often each item comes up says all; drawing that costs the same for any count.
        probabilities = self.probabilities.numpy() / self.probabilities.numpy().sum()
        times = torch.from_numpy(generator.multinomial(count, probabilities, draws))
        weights = times * self._weights
        return weights @ self.values / weights.sum(1, keepdim=True)


@dataclass(frozen=True)
class Moments:
    """Mean and variance of each feature over some outputs, with their standard errors."""

    mean: Tensor
    """Mean of each feature."""
    mean_error: Tensor
    """Its standard error."""
    variance: Tensor
    """Variance of each feature."""
    variance_error: Tensor
    """Its standard error."""


def moments(outputs: Tensor) -> Moments:
    """The moments of outputs `(draws, features)`, as a Monte Carlo estimate.

    Args:
        outputs: The outputs of independent draws.
    """
    draws = len(outputs)
    mean = outputs.mean(0)
    squares = (outputs - mean) ** 2
    variance = squares.sum(0) / (draws - 1)
    return Moments(
        mean=mean,
        mean_error=(variance / draws).sqrt(),
        variance=variance,
        variance_error=squares.std(0) / draws**0.5,
    )


def _check(count: int) -> None:
    require(count >= 1, "count", count, "at least 1")
