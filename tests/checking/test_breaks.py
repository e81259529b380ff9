"""Break lengths on curves whose answer is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.checking.breaks import break_length

LENGTHS = (256, 512, 1024, 2048, 4096)


def curve(means, spread=0.01, sequences=12, seed=0):
    """Documents that differ much, but alike at every length."""
    generator = np.random.default_rng(seed)
    own = generator.normal(size=sequences)
    return {
        length: mean + own + spread * generator.normal(size=sequences)
        for length, mean in zip(LENGTHS, means, strict=True)
    }


def test_loss_that_rises_for_sure_breaks_there():
    found = break_length("loss", curve([3.0, 2.9, 2.8, 2.85, 4.0]))
    assert (found.length, found.low, found.high) == (2048, 2048, 2048)
    assert str(found) == "2048"


def test_loss_that_goes_on_falling_does_not_break():
    found = break_length("loss", curve([3.0, 2.9, 2.8, 2.75, 2.7]))
    assert math.isinf(found.length)
    assert str(found) == "not up to 4096"


def test_a_rise_that_noise_could_make_is_no_break_but_shows_in_the_interval():
    found = break_length("loss", curve([3.0, 2.9, 2.8, 2.801, 2.9], spread=0.05))
    assert found.length == 4096
    assert found.low <= 4096 <= found.high


@given(seed=st.integers(0, 10_000))
def test_flat_curves_seldom_break(seed):
    """At 95 % one in twenty may; derandomized, so the count is fixed."""
    found = break_length("loss", curve([3.0] * 5, spread=0.2, seed=seed))
    CALLED.append(math.isfinite(found.length))
    assert sum(CALLED) <= 3 + 0.15 * len(CALLED)


CALLED: list[bool] = []


def test_scores_break_below_their_share_of_the_best():
    values = {n: np.full(4, s) for n, s in zip(LENGTHS, (0.8, 1.0, 0.86, 0.84, 0.2), strict=True)}
    assert break_length("copying", values).length == 2048
    assert break_length("needles", {n: v for n, v in values.items() if n < 2048}).length == math.inf


def test_what_a_model_cannot_do_is_not_judged():
    values = {n: np.array([0.01, 0.02]) for n in LENGTHS}
    assert str(break_length("needles", values)) == "cannot be judged"
    assert math.isnan(break_length("needles", {}).length)
    assert math.isnan(break_length("loss", {256: np.zeros(4)}).length)


@pytest.mark.parametrize("rule", ["loss", "copying"])
def test_the_interval_holds_the_length(rule):
    means = [3.0, 2.9, 2.8, 2.9, 3.0] if rule == "loss" else [0.9, 0.9, 0.7, 0.5, 0.3]
    found = break_length(rule, curve(means, spread=0.1, seed=3))
    assert found.low <= found.length <= found.high
