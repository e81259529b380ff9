from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.search import Choice, Integers, LogUniform, Sometimes, Uniform, When

PARTS = st.floats(0, 1, exclude_max=True)
FINITE = st.floats(-1e6, 1e6)


@given(FINITE, st.floats(1e-3, 1e6), PARTS, PARTS)
def test_ranges_are_kept_and_rise(low: float, width: float, u: float, v: float) -> None:
    wide = Uniform(low, low + width)
    assert wide.low <= wide.at(min(u, v)) <= wide.at(max(u, v)) <= wide.high
    tall = LogUniform(width, 10 * width)
    assert tall.low <= tall.at(min(u, v)) <= tall.at(max(u, v)) <= tall.high * (1 + 1e-12)


@given(st.integers(-50, 50), st.integers(0, 20), PARTS)
def test_integers_include_both_ends(low: int, more: int, u: float) -> None:
    whole = Integers(low, low + more)
    assert low <= whole.at(u) <= low + more
    assert whole.at(0.0) == low
    assert whole.at(1 - 2**-53) == low + more


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=6))
def test_choices_have_their_weights(weights: list[float]) -> None:
    choice = Choice(*range(len(weights)), weights=weights)
    drawn = np.bincount([choice.at(u) for u in np.linspace(0, 1, 4000, endpoint=False)])
    np.testing.assert_allclose(drawn / 4000, np.array(weights) / sum(weights), atol=1e-3)


def test_the_middle_of_a_log_range_is_its_geometric_mean() -> None:
    assert LogUniform(1e-4, 1e-2).at(0.5) == pytest.approx(1e-3)


@given(PARTS, PARTS)
def test_twins_get_another_value(u: float, v: float) -> None:
    choice = Choice("a", "b", "c")
    assert choice.another(choice.at(u), v) in {"a", "b", "c"} - {choice.at(u)}
    assert Choice("a").another("a", u) == "a"
    switch = Sometimes(Uniform(0.1, 0.5))
    assert (switch.at(u) == 0.0) != (switch.another(switch.at(u), v) == 0.0)


def test_sometimes_keeps_its_chance_and_its_distribution() -> None:
    values = np.array([Sometimes(Uniform(1, 2), chance=0.25).at(u) for u in np.arange(0, 1, 1e-3)])
    assert (values == 0).mean() == pytest.approx(0.75)
    inside = values[values != 0]
    assert inside.min() >= 1
    assert inside.max() < 2
    assert inside.mean() == pytest.approx(1.5, abs=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1.0, 0.0), r"Uniform\(1.0, 0.0\): inverted: expected low < high"),
        (lambda: Uniform(1.0, 1.0), r"Uniform\(1.0, 1.0\): empty"),
        (lambda: Uniform(0.0, float("inf")), "finite"),
        (lambda: Uniform("a", "b"), "finite"),
        (lambda: LogUniform(0.0, 1.0), "LogUniform low = 0.0: expected a positive number"),
        (lambda: LogUniform(1e-2, 1e-4), "inverted"),
        (lambda: Integers(3, 2), "inverted"),
        (lambda: Integers(1, 2.5), "whole number"),
        (lambda: Choice(), "at least one value"),
        (lambda: Choice("a", "a"), "every value once"),
        (lambda: Choice("a", "b", weights=(1,)), "2 numbers"),
        (lambda: Choice("a", "b", weights=(1, 0)), "positive"),
        (lambda: Sometimes(0.5), "a distribution"),
        (lambda: Sometimes(Uniform(0, 1), chance=1.0), "between 0 and 1"),
        (lambda: When("norm", "none", 3, 4), "a distribution"),
    ],
)
def test_bad_ranges_are_named(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
