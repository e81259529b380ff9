"""Estimates: against tables, by coverage, and by other means."""

import math

import numpy as np
import polars
import pytest
from scipy import stats

from lengthwise.claims import Estimate, TopPortion, bootstrap, estimate, every, levels, p_value


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
        1.0, math.exp(-1), math.exp(1), 4, "pairs", ratio=True
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


def test_looks_have_the_published_bounds() -> None:
    # Lan and DeMets' spending function of O'Brien and Fleming's kind, four equal looks, 5 %.
    bounds = [stats.norm.isf(level / 2) for level in levels((16, 32, 48, 64))]
    assert bounds == pytest.approx([4.333, 2.963, 2.359, 2.014], abs=1e-3)
    assert levels((64,)) == (pytest.approx(0.05),)


@pytest.mark.parametrize(("looks", "always"), [((16, 32, 48, 64), False), ((64, 64), True)])
def test_several_looks_are_wrong_as_often_as_one(looks: tuple[int, ...], always: bool) -> None:
    """At no effect but the smallest that matters, anything that is decided is an error."""
    trials = 8000
    values = np.random.default_rng(7).normal(0.3, 2.0, size=(trials, looks[-1]))
    wrong = np.zeros(trials, bool)
    plan = dict(zip(looks, levels(looks), strict=True)) if not always else {16: 0.05, 64: 0.05}
    for count, level in plan.items():
        own = values[:, :count]
        reach = stats.t.isf(level / 2, count - 1) * stats.sem(own, axis=1)
        wrong |= np.abs(own.mean(1) - 0.3) > reach
    error = 4 * (0.05 * 0.95 / trials) ** 0.5
    if always:  # what would be if every look were taken for the only one
        assert wrong.mean() > 0.05 + error
    else:
        assert abs(wrong.mean() - 0.05) < error


def test_the_level_is_that_of_the_interval() -> None:
    values = np.random.default_rng(3).normal(size=16).tolist()
    one = estimate(values, level=0.003)
    assert one.high - one.mean == pytest.approx(stats.t.isf(0.0015, 15) * stats.sem(values))


@pytest.mark.parametrize(("distance", "deviation"), [(0.035, 0.1), (-0.02, 0.05), (0.5, 0.4)])
def test_the_count_that_would_decide_has_the_power_it_says(
    distance: float, deviation: float
) -> None:
    smallest = 0.01
    one = Estimate(smallest + distance, -1, 1, 5, deviation=deviation)
    count = one.count_to_decide(smallest)
    assert count is not None
    trials = 20_000
    values = np.random.default_rng(1).normal(one.mean, deviation, size=(trials, count))
    reach = stats.t.isf(0.025, count - 1) * stats.sem(values, axis=1)
    decided = np.sign(distance) * (values.mean(1) - smallest) > reach
    assert 0.79 < decided.mean() < (0.82 if count > 20 else 0.95)
    ratio = Estimate(math.log(1.05) + distance, -1, 1, 5, deviation=deviation).exp()
    assert ratio.count_to_decide(1.05) == count


def test_no_count_decides_what_is_the_smallest_effect_itself() -> None:
    assert Estimate(0.01, -1, 1, 5, deviation=0.1).count_to_decide(0.01) is None
    assert every([1.0, 2.0]).count_to_decide(0.0) is None
    assert estimate([1.0]).count_to_decide(0.0) is None


def test_the_published_case_of_about_65_seeds() -> None:
    # LayerNorm's gain on argmax retrieval from five seeds: +4.5 points, -8.0 to +17.1.
    deviation = (0.171 + 0.0804) / 2 / 2.77645 * math.sqrt(5)
    assert Estimate(0.0453, -0.0804, 0.171, 5, deviation=deviation).count_to_decide(0.01) == 67
