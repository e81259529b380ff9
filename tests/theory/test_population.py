"""Proposition 1 and the bounds of the dispersion lemma."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.models import Attention
from lengthwise.papers.vanishing_variance.populations.population import population
from lengthwise.remedies import Keys
from lengthwise.theory import Population, attention_bounds, moments, spread_bound, weight_bounds


@pytest.mark.parametrize("kind", ["centred", "shifted"])
@pytest.mark.parametrize("count", [64, 256, 4096])
def test_monte_carlo_agrees_with_the_formulas(kind, count: int) -> None:
    """With 16 features and 12 populations, chance alone puts 0.3 % beyond 3 standard errors."""
    off = []
    for seed in range(12):
        one = population(kind, seed)
        measured = moments(one.sample(count, 2000, seed))
        off.append((measured.variance - one.variance(count)) / measured.variance_error)
        off.append((measured.mean - one.mean(count)) / measured.mean_error)
    # At N = 64 what the formula leaves out is as large as a standard error.
    assert (torch.stack(off).abs() <= 3).double().mean() > (0.95 if count == 64 else 0.98)


def test_the_formulas_get_better_as_one_over_n() -> None:
    one = population("centred", 0)
    for count, allowed in ((256, 0.03), (4096, 0.01)):
        measured = moments(one.sample(count, 200_000)).variance / one.variance(count)
        assert float((measured.mean() - 1).abs()) < allowed


@pytest.mark.parametrize("kind", ["centred", "shifted"])
@pytest.mark.parametrize("count", [1, 2, 3, 64, 512])
def test_exact_moments_agree_with_many_draws(kind, count: int) -> None:
    off = []
    for seed in range(4):
        one = population(kind, seed)
        measured = moments(one.sample(count, 40_000, seed))
        mean, variance = one.exact_moments(count)
        off.append((measured.mean - mean).abs() / measured.mean_error)
        off.append((measured.variance - variance).abs() / measured.variance_error)
    # Of 128 numbers chance leaves less than one beyond 3 standard errors.
    assert (~(torch.stack(off) <= 3)).sum() <= 3


def test_exact_moments_of_few_items_by_hand() -> None:
    one = population("shifted", 3)
    mean, variance = one.exact_moments(1)
    torch.testing.assert_close(mean, one.probabilities @ one.values)
    torch.testing.assert_close(variance, one.probabilities @ (one.values - mean) ** 2)
    weights = one.scores.exp()
    pairs = torch.outer(one.probabilities, one.probabilities).unsqueeze(-1)
    terms = weights.unsqueeze(-1) * one.values
    outputs = (terms + terms.unsqueeze(1)) / (weights + weights.unsqueeze(1)).unsqueeze(-1)
    mean, variance = one.exact_moments(2)
    torch.testing.assert_close(mean, (pairs * outputs).sum((0, 1)))
    torch.testing.assert_close(variance, (pairs * (outputs - mean) ** 2).sum((0, 1)))


def test_global_variance_tends_to_that_of_the_limit() -> None:
    one = population("shifted", 1)
    outputs = one.sample(2**16, 200)
    assert float(outputs.var(1, correction=0).mean()) == pytest.approx(
        one.global_variance_limit, rel=0.01
    )
    assert one.global_variance_limit > 0.1


def test_a_constant_in_the_values_changes_no_variance() -> None:
    one = population("centred", 2)
    moved = Population(one.scores, one.values + 7, one.probabilities)
    torch.testing.assert_close(one.variance(64), moved.variance(64))
    torch.testing.assert_close(one.sample(64, 50).var(0), moved.sample(64, 50).var(0))


def test_drawing_counts_is_drawing_items() -> None:
    one = population("shifted", 3)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.multinomial(one.probabilities, 4000 * 8, replacement=True, generator=generator)
    weights = one.scores[drawn].view(4000, 8).softmax(1)
    direct = moments((weights.unsqueeze(-1) * one.values[drawn].view(4000, 8, -1)).sum(1))
    counted = moments(one.sample(8, 4000))
    error = (direct.variance_error**2 + counted.variance_error**2).sqrt()
    assert ((direct.variance - counted.variance).abs() < 4 * error).all()


@given(st.integers(1, 40), st.floats(0.1, 5), st.floats(0, 20), st.integers(0, 10**6))
def test_no_softmax_weight_breaks_its_bounds(count, temperature, size, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = size * torch.randn(count, generator=generator, dtype=torch.float64)
    spread = scores.max() - scores.min()
    weights = (scores / temperature).softmax(0)
    low, high = weight_bounds(spread, count, temperature)
    assert (weights >= low * (1 - 1e-9)).all()
    assert (weights <= high * (1 + 1e-9)).all()
    reach = (spread / temperature).exp()
    assert low >= 1 / (count * reach) * (1 - 1e-9)  # the lemma's own bounds are wider
    assert high <= reach / count * (1 + 1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_weight_bounds_are_attained(sign: float) -> None:
    scores = torch.zeros(50, dtype=torch.float64)
    scores[7] = sign * 3
    attained = weight_bounds(3.0, 50)[1 if sign > 0 else 0]
    torch.testing.assert_close(scores.softmax(0)[7], attained)


@given(st.integers(1, 3), st.integers(1, 12), st.floats(0.1, 5), st.integers(0, 10**6))
def test_no_attention_layer_breaks_its_bounds(heads, keys, size, seed):
    torch.manual_seed(seed)
    attention = Attention(12, heads=heads, key_width=6, value_width=6).double()
    x, context = (size * torch.randn(2, n, 12, dtype=torch.float64) for n in (3, keys))
    read = Keys(torch.zeros(1, keys).double())
    weights = attention.scores(attention.products(x, context, read), read).softmax(-1)
    low, high = attention_bounds(attention, x, context)
    assert low.shape == weights.shape[:-1]
    assert (weights >= low.unsqueeze(-1) * (1 - 1e-9)).all()
    assert (weights <= high.unsqueeze(-1) * (1 + 1e-9)).all()


def test_the_spread_bound_is_attained() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(4, 8, generator=generator, dtype=torch.float64) for _ in range(2)]
    (left, _, query), (_, values, key) = (torch.linalg.svd(weight) for weight in weights)
    # Turn the key weight so that its first direction comes out where the query weight's does.
    turned = left @ torch.diag(values) @ key[:4]
    keys = torch.stack([3 * key[0], -3 * key[0]])
    scores = (turned @ keys.T).T @ (weights[0] @ query[0]) / 4**0.5
    bound = spread_bound(weights[0], turned, query[0], keys)
    torch.testing.assert_close(scores.max() - scores.min(), bound)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weight_bounds(-1.0, 3), "spread = -1.0: expected a number of at least 0"),
        (lambda: weight_bounds(1.0, 0), "count = 0: expected at least 1"),
        (lambda: population("centred", 0).variance(0), "count = 0: expected at least 1"),
        (lambda: Population(torch.zeros(2), torch.zeros(3, 1), torch.ones(2) / 2), "values = 3"),
        (lambda: Population(torch.zeros(2), torch.zeros(2, 1), torch.ones(2)), "a distribution"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
