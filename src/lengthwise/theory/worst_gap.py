"""The smallest gap between two logits over all inputs of a length, without going through them.

An input is a last token l and a set T of s tokens that holds l. Its logit of token j is

    B[l, j] + sum_{i in T} e_i D[i, j] / sum_{i in T} e_i,   e_i = exp(scores[l, i]),

so for fixed l, a legal j and another token k, the gap is a ratio of two sums over T. The smallest
ratio over sets of one size is found by Dinkelbach's iteration: for a guess g, the set that
minimises sum_T e_i (c_i - g) consists of the tokens that must be in T and the smallest of the other
terms; if that sum is negative its set has a gap below g, which is the next guess, and if no (l, j,
k) gives a negative sum then no input has a gap below g. With constant attention the order of the
terms does not depend on g, and the iteration is a single sort.
"""

from dataclasses import dataclass, fields
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from lengthwise.errors import InputError
from lengthwise.theory.tables import Tables

TOLERANCE = 1e-12
"""How far below the gap that is given another could lie, over the largest difference of logits."""

LARGEST_SPREAD = 600.0
"""Scores further apart than this give weights that float64 cannot hold."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """The smallest gap at one length, and an input that has it."""

    value: float
    worst_input: tuple[int, ...]


def smallest_gaps(
    tables: Tables, lengths: list[int], other: Literal["illegal", "legal"]
) -> dict[int, Gap]:
    """For each length, the minimum of (logit of a legal token) - (logit of another token).

    Args:
        tables: Of a model without a norm after attention.
        lengths: At which lengths; `other="legal"` needs two legal tokens, so at most vocab - 2.
        other: Whether the other token is one of the input or a second legal one.
    """
    if tables.score_spread > LARGEST_SPREAD:
        raise InputError(
            f"scores: differ by {tables.score_spread:.0f} for one token: expected at most "
            f"{LARGEST_SPREAD:.0f}, beyond which float64 holds no weight"
        )
    bias, displacement, scores = (
        table.numpy() for table in (tables.bias, tables.displacement, tables.scores)
    )
    largest = float(np.ptp(bias, axis=1).max() + np.ptp(displacement, axis=1).max())
    best = {length: Gap(2 * largest + 1, ()) for length in lengths}
    weights = np.exp(scores - scores.max(1, keepdims=True))
    for last in range(tables.vocab):
        rows = displacement + bias[last]
        groups = [
            _Pairs.build(last, second_is, weights[last], rows)
            for second_is in (("last", "earlier") if other == "illegal" else ("legal",))
        ]
        for length in lengths:
            for pairs in groups:
                if pairs.forced.shape[1] <= length:
                    best[length] = _improve(best[length], pairs, length, TOLERANCE * largest)
    return best


@dataclass(frozen=True)
class _Pairs:
    """Choices of the two tokens for one last token, with as many forced tokens each."""

    forced: NDArray[np.int64]
    """The tokens that must be in the input, the last one in front: `(pairs, forced)`."""
    free: NDArray[np.int64]
    """The tokens that may be in the input: `(pairs, free)`."""
    forced_term: Floats
    """Sum of e_i c_i over the forced tokens: `(pairs,)`."""
    forced_weight: Floats
    """Sum of e_i over the forced tokens: `(pairs,)`."""
    terms: Floats
    """e_i c_i of the free tokens: `(pairs, free)`."""
    weights: Floats
    """e_i of the free tokens: `(pairs, free)`."""

    @classmethod
    def build(cls, last: int, second_is: str, weights: Floats, rows: Floats) -> Self:
        vocab = len(weights)
        legal, second = np.indices((vocab, vocab)).reshape(2, -1)
        valid = (legal != last) & (legal != second) & ((second == last) == (second_is == "last"))
        legal, second = legal[valid], second[valid]
        each = np.arange(len(legal))
        free = np.ones((len(legal), vocab), dtype=bool)
        free[each, legal] = free[each, second] = free[:, last] = False
        # Every row has as many free tokens as the next.
        tokens = np.nonzero(free)[1].reshape(len(legal), free[:1].sum())
        forced = np.full((len(legal), 1), last)
        if second_is == "earlier":
            forced = np.stack([forced[:, 0], second], axis=1)
        terms = weights * (rows[:, legal] - rows[:, second]).T
        return cls(
            forced=forced,
            free=tokens,
            forced_term=np.take_along_axis(terms, forced, 1).sum(1),
            forced_weight=weights[forced].sum(1),
            terms=np.take_along_axis(terms, tokens, 1),
            weights=weights[tokens],
        )

    def only(self, chosen: NDArray[np.bool_]) -> "_Pairs":
        return _Pairs(*(getattr(self, field.name)[chosen] for field in fields(self)))


def _improve(best: Gap, pairs: _Pairs, length: int, allowed: float) -> Gap:
    """The smallest gap of these pairs, or `best` if that is no larger."""
    count = length - pairs.forced.shape[1]
    nth = np.arange(max(count - 1, 0), count)  # nothing to part where nothing is chosen
    while len(pairs.forced):
        # To ask for a gap that is smaller by `allowed` keeps rounding from hiding a better set of
        # small weights behind a large weight whose own term is next to zero.
        guess = best.value - allowed
        forced = pairs.forced_term - guess * pairs.forced_weight
        keys = pairs.terms - guess * pairs.weights
        # With as many free tokens as one likes the sum is no larger: a cheap way to drop pairs.
        hopeful = np.minimum(keys, 0.0).sum(1) < -forced
        smallest = np.partition(keys[hopeful], nth, axis=1)[:, :count]
        improving = hopeful.copy()
        improving[hopeful] = smallest.sum(1) < -forced[hopeful]
        if not improving.any():
            break
        pairs, keys = pairs.only(improving), keys[improving]
        chosen = np.argpartition(keys, nth, axis=1)[:, :count]
        gaps = pairs.forced_term + np.take_along_axis(pairs.terms, chosen, 1).sum(1)
        gaps /= pairs.forced_weight + np.take_along_axis(pairs.weights, chosen, 1).sum(1)
        winner = int(gaps.argmin())
        if gaps[winner] >= best.value:
            break
        tokens = [*pairs.free[winner, chosen[winner]], *pairs.forced[winner, ::-1]]
        best = Gap(float(gaps[winner]), tuple(int(token) for token in tokens))
    return best
