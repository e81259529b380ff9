"""Compiled rows of entmax and sparsemax, and of their gradients, for processors.

A row of scores is turned into r_j = max(0, z_j - tau), z the scores (sparsemax) or half of them
(1.5-entmax), with tau such that sum_j c_j r_j^p = 1 for p = 1 or 2 and counts c_j. The left side
falls and is convex in tau, and so is its root for p = 2, so that Newton's steps from below never
overshoot: they end after a handful, with p = 1 exactly. No sorting is needed, which takes twenty
times as long.
"""

from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from lengthwise.compiled import compiled

rows = partial(compiled, in_any_order=True)

STEPS = 100
"""More steps than rounding leaves anything for."""


@rows
def weigh(
    scores: NDArray[Any], counts: NDArray[Any], squared: bool, epsilon: float, weights: NDArray[Any]
) -> None:
    """Fill `weights` row by row; the rows of `counts` are used in turn, again and again."""
    zero, one = scores.dtype.type(0.0), scores.dtype.type(1.0)
    factor = scores.dtype.type(0.5 if squared else 1.0)
    shifted = scores[0].copy()
    for row in range(scores.shape[0]):
        count = counts[row % counts.shape[0]]
        end = scores.shape[1]
        while end > 0 and count[end - 1] == zero:
            end -= 1
        for key in range(end, scores.shape[1]):
            weights[row, key] = zero
        if end == 0:
            continue
        top = scores[row, end - 1]
        for key in range(end):
            top = max(top, scores[row, key] if count[key] > zero else top)
        for key in range(end):
            shifted[key] = (scores[row, key] - top) * factor
        tau = -one  # the largest score alone makes a sum of its count, which is no less than 1
        for _ in range(STEPS):
            first, second = zero, zero
            if squared:
                for key in range(end):
                    rest = max(shifted[key] - tau, zero)
                    first += count[key] * rest
                    second += count[key] * rest * rest
                root = numpy.sqrt(second)
                step = (root - one) * root / first
            else:
                for key in range(end):
                    rest = shifted[key] - tau
                    first += count[key] * max(rest, zero)
                    second += count[key] * (one if rest > zero else zero)
                step = (first - one) / second
            tau += step
            if abs(step) <= epsilon:
                break
        if squared:
            for key in range(end):
                rest = max(shifted[key] - tau, zero)
                weights[row, key] = count[key] * rest * rest
        else:
            for key in range(end):
                weights[row, key] = count[key] * max(shifted[key] - tau, zero)


@rows
def pull_back(
    gradients: NDArray[Any],
    weights: NDArray[Any],
    counts: NDArray[Any],
    squared: bool,
    pulled: NDArray[Any],
) -> None:
    """Fill `pulled` with the gradients of the scores out of those of the weights."""
    zero = weights.dtype.type(0.0)
    for row in range(weights.shape[0]):
        count = counts[row % counts.shape[0]]
        if squared:
            for key in range(weights.shape[1]):
                pulled[row, key] = numpy.sqrt(weights[row, key] * count[key])
        else:
            for key in range(weights.shape[1]):
                pulled[row, key] = count[key] if weights[row, key] > zero else zero
        total, along = zero, zero
        for key in range(weights.shape[1]):
            total += pulled[row, key]
            along += pulled[row, key] * gradients[row, key]
        mean = along / total if total > zero else zero
        for key in range(weights.shape[1]):
            pulled[row, key] *= gradients[row, key] - mean
