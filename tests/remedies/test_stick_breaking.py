"""Stick-breaking, broken one piece after the other."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from weight_tools import causal, everything, made, numbers

from lengthwise.remedies import Keys


def broken(scores: list[float]) -> tuple[list[float], float]:
    """Pieces that keys of these scores break off, the last of them first, and what is left."""
    stick, pieces = 1.0, [0.0] * len(scores)
    for key in reversed(range(len(scores))):
        wish = 1 / (1 + math.exp(-scores[key]))
        pieces[key] = stick * wish
        stick *= 1 / (1 + math.exp(scores[key]))
    return pieces, stick


def expected(scores: Tensor, hidden: set[int], keeps_rest: bool) -> Tensor:
    weights = torch.zeros_like(scores)
    for query in range(len(scores)):
        keys = [key for key in range(query) if key not in hidden]
        pieces, rest = broken(scores[query, keys].tolist())
        weights[query, keys] = torch.tensor(pieces, dtype=torch.float64)
        weights[query, query] = rest if keeps_rest else 0.0
    return weights


@pytest.mark.parametrize("rest", [False, True])
@given(length=st.integers(1, 15), seed=st.integers(0, 99), size=st.floats(0.1, 20.0))
def test_pieces(rest: bool, length: int, seed: int, size: float) -> None:
    scores = numbers(length, length, seed=seed, scale=size)
    one = made("stick-breaking-rest" if rest else "stick-breaking")
    for read in (causal(length), everything(length, length)):  # later tokens are never read
        weights = one.weights(scores.unsqueeze(0), read)[0]
        torch.testing.assert_close(weights, expected(scores, set(), rest), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rest", [False, True])
def test_hidden_keys_break_nothing(rest: bool) -> None:
    scores = numbers(2, 7, 7)
    hidden = causal(7).log_count.clone()
    hidden[:, [1, 4]] = -torch.inf
    hidden.fill_diagonal_(0.0)
    one = made("stick-breaking-rest" if rest else "stick-breaking", 2)
    weights = one.weights(scores, Keys(hidden))
    for head in range(2):
        torch.testing.assert_close(weights[head], expected(scores[head], {1, 4}, rest))


@pytest.mark.parametrize("name", ["stick-breaking", "stick-breaking-rest"])
def test_gradients_are_those_of_differences(name: str) -> None:
    scores = numbers(2, 6, 6, seed=2).requires_grad_()
    torch.autograd.gradcheck(lambda s: made(name).weights(s, causal(6)), scores)


def test_keys_that_are_added_far_away_change_nothing() -> None:
    scores = numbers(1, 40, 40)
    long = made("stick-breaking").weights(scores, causal(40))[0, -1]
    short = made("stick-breaking").weights(scores[..., 30:, 30:], causal(10))[0, -1]
    torch.testing.assert_close(long[30:], short)


def test_near_keys_are_not_lost_in_rounding_at_long_inputs() -> None:
    """In float32 over 20000 keys; a difference of sums would be wrong by a thousandth."""
    scores = numbers(1, 2, 20000).float()
    weights = made("stick-breaking").float().weights(scores, Keys(torch.zeros(2, 20000)))[0, -1]
    pieces, _ = broken(scores[0, -1, :-1].tolist())
    theirs = torch.tensor(pieces[-50:]).float()
    torch.testing.assert_close(weights[-51:-1], theirs, rtol=2e-5, atol=1e-9)
