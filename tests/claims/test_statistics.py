"""Estimates: against tables, by coverage, and by other means."""

import math

import numpy as np
import polars
import pytest

from lengthwise.claims import Estimate, TopPortion, bootstrap, estimate, every, p_value


@pytest.mark.parametrize(
    ("count", "quantile"), [(2, 12.7062), (3, 4.30265), (8, 2.36462), (31, 2.04227)]
)
def test_the_interval_has_the_published_quantiles_of_students_t(
    count: int, quantile: float
) -> None:
    values = np.random.default_rng(count).normal(size=count)
    one = estimate(values.tolist())
    assert (one.high - one.mean) / (values.std(ddof=1) / math.sqrt(count)) == pytest.approx(
        quantile, rel=1e-5
    )


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    trials = 1000
    covered = 0
    for values in generator.normal(1.0, 2.0, size=(trials, 5)):
        one = estimate(values)
        covered += one.low <= 1.0 <= one.high
    assert abs(covered / trials - 0.95) < 4 * (0.95 * 0.05 / trials) ** 0.5


def test_more_looks_widen_the_interval_as_bonferroni_has_it() -> None:
    values = np.random.default_rng(3).normal(size=50).tolist()
    one, many = (estimate(values, looks=looks) for looks in (1, 40))
    assert one.mean == many.mean
    # Quantiles 0.975 and 1 - 0.025 / 40 of Student's t with 49 degrees of freedom.
    assert (many.high - many.mean) / (one.high - one.mean) == pytest.approx(
        3.42557 / 2.00958, rel=1e-5
    )


def test_one_value_or_none_says_nothing_of_the_spread() -> None:
    for values in ([], [100.0]):
        assert (estimate(values).low, estimate(values).high) == (-math.inf, math.inf)


def test_every_is_no_estimate() -> None:
    assert every([3.0, 1.0, 2.0], "models") == Estimate(2.0, 1.0, 3.0, 3, "models")


def test_a_ratio_keeps_what_was_counted() -> None:
    assert Estimate(0.0, -1.0, 1.0, 4, "pairs").exp() == Estimate(
        1.0, math.exp(-1), math.exp(1), 4, "pairs"
    )


def test_the_bootstrap_is_what_resampling_by_hand_gives() -> None:
    values = np.array([0.3, -0.1, 0.4, 0.2, 0.25])
    drawn = np.random.default_rng(0).integers(5, size=(10_000, 5))
    low, high = np.quantile(values[drawn].mean(1), (0.025, 0.975))
    one = bootstrap(values.tolist())
    assert (one.low, one.high) == pytest.approx((low, high), rel=1e-12)


def test_p_values() -> None:
    # By hand: mean 2, deviation 1, t = 2 sqrt(3); the tail of Student's t with 2 degrees.
    t = 2 * math.sqrt(3)
    assert p_value([1.0, 2.0, 3.0]) == pytest.approx(1 - t / math.sqrt(2 + t**2), rel=1e-9)
    assert (p_value([0.0, 0.0]), p_value([0.5, 0.5])) == (1.0, 0.0)


def trials(values: np.ndarray, scores: np.ndarray) -> polars.DataFrame:
    count = len(values)
    return polars.DataFrame(
        {"trial": range(count), "pair": [i // 2 for i in range(count)], "tvd_beyond": scores,
         "value": values, "cell": [0] * count}
    )  # fmt: skip


def test_the_top_portion_is_what_sorting_gives() -> None:
    generator = np.random.default_rng(1)
    values, scores = generator.random(200), generator.random(200)
    top = TopPortion(trials(values, scores), "value", ["cell"], portion=0.1)
    assert top.point == pytest.approx(values[np.argsort(scores)[:20]].mean())
    whole = TopPortion(trials(values, scores), "value", ["cell"], portion=1.0)
    assert whole.point == pytest.approx(values.mean())


def test_intervals_of_portions_cover_and_widen_for_twins() -> None:
    generator = np.random.default_rng(2)

    def whole(values: np.ndarray) -> Estimate:
        return TopPortion(trials(values, values), "value", ["cell"], 1.0).estimate()

    found = [whole(generator.normal(size=100)) for _ in range(60)]
    assert sum(one.low < 0 < one.high for one in found) >= 50, "95 % miss the truth seldom"
    single = generator.normal(size=100)
    alone, twins = (whole(values) for values in (single, np.repeat(single[:50], 2)))
    assert twins.high - twins.low > 1.2 * (alone.high - alone.low), "half as many witnesses"
    assert twins.unit == "pairs"
