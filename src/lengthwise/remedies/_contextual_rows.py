"""Compiled rows of CoPE, and of its gradients, for processors.

A row is read from its last key to its first, and its gates are summed on the way. From the key on
at which the sum reaches the last position there is nothing left to count: that is after a few
dozen keys however long the row, where the same in tensors takes fifteen passes over all of it.
"""

import math
from typing import Any

import numpy
from numpy.typing import NDArray

from lengthwise.compiled import compiled


@compiled
def add_positions(
    scores: NDArray[Any], whole: NDArray[Any], hidden: NDArray[Any], added: NDArray[Any]
) -> None:
    """Fill `added` with scores and what their positions add; rows of `hidden` are used in turn.

    `whole` has what whole positions add to the scores of a row.
    """
    last = whole.shape[1] - 1
    for row in range(scores.shape[0]):
        unseen = hidden[row % hidden.shape[0]]
        key = scores.shape[1] - 1
        while key >= 0 and unseen[key]:
            added[row, key] = scores[row, key] + whole[row, 0]
            key -= 1
        counted = 0.0
        while key >= 0 and counted < last:
            if not unseen[key]:
                counted += 1 / (1 + math.exp(-scores[row, key]))
            place = min(counted, last)
            below = min(int(place), last - 1)
            lower, upper = whole[row, below], whole[row, below + 1]
            added[row, key] = scores[row, key] + lower + (place - below) * (upper - lower)
            key -= 1
        rest = whole[row, last]
        for further in range(key + 1):
            added[row, further] = scores[row, further] + rest


@compiled
def pull_back(
    gradient: NDArray[Any],
    scores: NDArray[Any],
    whole: NDArray[Any],
    hidden: NDArray[Any],
    to_scores: NDArray[Any],
    to_whole: NDArray[Any],
) -> None:
    """Fill the gradients of scores and of whole positions; the latter must be 0 before."""
    last = whole.shape[1] - 1
    gates = numpy.empty(scores.shape[1])
    places = numpy.empty(scores.shape[1])
    for row in range(scores.shape[0]):
        unseen = hidden[row % hidden.shape[0]]
        key = scores.shape[1] - 1
        while key >= 0 and unseen[key]:
            to_scores[row, key] = gradient[row, key]
            to_whole[row, 0] += gradient[row, key]
            key -= 1
        counted, end = 0.0, key + 1
        while key >= 0 and counted < last:
            gates[key] = 0.0 if unseen[key] else 1 / (1 + math.exp(-scores[row, key]))
            counted += gates[key]
            places[key] = counted
            key -= 1
        rest = 0.0
        for further in range(key + 1):
            to_scores[row, further] = gradient[row, further]
            rest += gradient[row, further]
        # A gate moves the positions of its own key and of all before it that still count.
        moved = 0.0
        for own in range(key + 1, end):
            slope, place = gradient[row, own], min(places[own], last)
            below = min(int(place), last - 1)
            share = place - below
            to_whole[row, below] += slope * (1 - share)
            to_whole[row, below + 1] += slope * share
            if places[own] < last:
                moved += slope * (whole[row, below + 1] - whole[row, below])
            to_scores[row, own] = slope + moved * gates[own] * (1 - gates[own])
        to_whole[row, last] += rest
