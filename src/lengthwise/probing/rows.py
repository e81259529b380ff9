"""Measures of rows of attention weights in one pass over their scores, for processors.

The weights themselves are never kept: a row of scores is read while it lies in a core's nearest
cache, and what it adds up to is written down.
"""

from functools import partial
from typing import Any

from llvmlite import ir
from numba import float32, int32
from numba.extending import intrinsic
from numpy import float32 as single
from numpy import log, nan
from numpy.typing import NDArray
from torch import Tensor

from lengthwise.compiled import compiled

Singles = NDArray[single]


def measure_rows(scores: Tensor, best: Tensor, lowest: float, measures: Tensor) -> None:
    """Fill in the measures of the softmax over each row of scores.

    Args:
        scores: `(rows, keys)` in a processor's memory, float32.
        best: The largest scores of each row, in any order.
        lowest: Keys with a score of no more are hidden.
        measures: `(5, rows)`; in the order of `weights.MEASURES`.
    """
    _measure_rows(scores.numpy(), best.numpy(), single(lowest), measures.numpy())


@intrinsic
def _float_of_bits(context: Any, word: Any) -> Any:
    """The float32 whose bits these are."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return float32(int32), code


@partial(compiled, rounded_once=True)
def _exp(x: Any) -> Any:
    """exp(x) in float32 for x <= 0, to about a unit in the last place; from -87 on exp(-87)."""
    x = max(x, single(-87.0))
    power = int32(x * single(1.44269504) - single(0.5))
    whole = single(power)
    # ln 2 in two numbers, the first of which has few enough bits to be multiplied exactly.
    rest = (x - whole * single(0.693359375)) + whole * single(2.12194440e-4)
    series = single(1.0 / 720) * rest + single(1.0 / 120)
    series = series * rest + single(1.0 / 24)
    series = series * rest + single(1.0 / 6)
    series = series * rest + single(0.5)
    series = series * rest + single(1.0)
    series = series * rest + single(1.0)
    return series * _float_of_bits((power + int32(127)) << int32(23))  # type: ignore[call-arg]


@partial(compiled, in_any_order=True)
def _measure_rows(scores: Singles, best: Singles, lowest: Any, measures: Singles) -> None:
    """Fill in the measures of all rows."""
    for place in range(len(scores)):
        row, largest = scores[place], best[place]
        peak = largest.max()
        total, mean, square, control = single(0.0), single(0.0), single(0.0), single(0.0)
        for key in range(len(row)):
            score = row[key] - peak
            share = _exp(score)
            share = share if row[key] > lowest else single(0.0)
            total += share
            mean += share * score
            square += share * share
            control += score * single(0.0)
        mass = single(0.0)
        for score in largest:
            mass += _exp(score - peak) if score > lowest else single(0.0)
        # A query that sees nothing has no measures, and what is no number must stay so.
        part = single(1.0) / total if peak > lowest and control == single(0.0) else single(nan)
        measures[0, place] = -single(log(part)) - mean * part
        measures[1, place] = single(1.0) / (square * part * part)
        measures[2, place] = part
        measures[3, place] = mass * part
        measures[4, place] = _exp(row[0] - peak) * part if row[0] > lowest else part * single(0.0)
