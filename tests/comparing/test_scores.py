"""The break length against its definition, found by walking."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.comparing.scores import break_length, score_of
from lengthwise.registry import TASKS

LENGTHS = [12, 18, 24, 48, 96]
SCORES = st.lists(st.floats(0, 1), min_size=5, max_size=5)


@given(SCORES, st.floats(0.05, 0.95))
def test_break_length_is_where_a_fine_walk_falls_below(scores: list[float], bar: float) -> None:
    found = break_length(LENGTHS, scores, bar)
    logs = np.linspace(math.log(12), math.log(96), 200_001)
    walk = np.interp(logs, np.log(LENGTHS), scores)
    below = np.flatnonzero(walk < bar)
    if len(below) == 0:
        assert found is None or found == pytest.approx(96, rel=1e-4)
    else:
        expected = math.exp(logs[below[0]])
        # A walk of steps sees a fall of less than a step one step late.
        assert found is not None
        assert found <= expected * 1.0001
        after = np.interp(math.log(found) + 1e-4, np.log(LENGTHS), scores)
        assert scores[0] < bar or min(after, walk[below[0]]) < bar + 1e-2


@given(SCORES, st.floats(0.1, 0.9), st.floats(0.0, 0.1))
def test_a_lower_bar_is_broken_no_earlier(scores: list[float], bar: float, less: float) -> None:
    strict = break_length(LENGTHS, scores, bar) or math.inf
    assert (break_length(LENGTHS, scores, bar - less) or math.inf) >= strict - 1e-9


def test_by_hand() -> None:
    assert break_length([10, 20], [1.0, 1.0], 0.85) is None
    assert break_length([10, 20], [0.5, 1.0], 0.85) == 10
    assert break_length([10, 40], [1.0, 0.0], 0.5) == pytest.approx(20)
    assert break_length([10, 20, 40], [1.0, 0.9, 0.8], 0.85) == pytest.approx(20 * 2**0.5)
    assert break_length([10, 20, 40], [1.0, math.nan, 0.0], 0.5) == 10


def test_every_kind_of_task_has_its_score() -> None:
    expected = {
        "unique-copy": "exact_match", "mqar": "accuracy", "tomita-4": "1 - tvd",
        "markov": "1 - tvd", "parity-check": "accuracy",
    }  # fmt: skip
    for name, score in expected.items():
        assert score_of(TASKS.get(name)()) == score
