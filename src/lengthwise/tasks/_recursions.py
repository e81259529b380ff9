"""Compiled code of series. Imported where it is used: its compiler takes a while to load."""

import numpy
from numpy import float32, float64, int64, uint32, uint64
from numpy.typing import NDArray

from lengthwise.compiled import compiled


@compiled
def recur(settings: NDArray[float64], paths: NDArray[float64]) -> None:
    """Turn every row of standard normal numbers into a stationary path of its AR(2) process.

    Settings are its two coefficients, the deviation of its noise, the correlation of neighbours,
    and what that leaves of the deviation of the second value.
    """
    for row in range(paths.shape[0]):
        first, second, deviation, correlation, start = settings[row]
        if paths.shape[1] > 1:
            paths[row, 1] = correlation * paths[row, 0] + start * paths[row, 1]
        for time in range(2, paths.shape[1]):
            before = first * paths[row, time - 1] + second * paths[row, time - 2]
            paths[row, time] = before + deviation * paths[row, time]


@compiled
def combine(
    paths: NDArray[float64],
    chosen: NDArray[int64],
    loadings: NDArray[float64],
    lags: NDArray[int64],
    keys: NDArray[int64],
    quantiles: NDArray[float64],
    noise: float,
    values: NDArray[float32],
) -> None:
    """Write `values`, `(inputs, variates, times)`, of variates that follow `paths` with a lag.

    The paths, `(inputs, factors, times)`, begin earlier by as much as they are longer. To each
    value comes the normal number of its random word, times `noise`: of stream `keys[row]`, as
    `lengthwise.randomness.bits` gives them.
    """
    earlier, times = paths.shape[2] - values.shape[2], values.shape[2]
    # Apart, each of these loops goes over several times at once.
    words, value = numpy.empty(times, dtype=numpy.uint32), numpy.empty(times)
    for row in range(values.shape[0]):
        key = uint64(keys[row])
        key = (key ^ (key >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> uint64(27))) * uint64(0x94D049BB133111EB)
        key ^= key >> uint64(31)
        low, high = uint32(key), uint32(key >> uint64(32))
        for number in range(values.shape[1]):
            variate = chosen[row, number]
            begin = earlier - lags[variate]
            first = uint32(number * times)
            for time in range(times):
                word = uint32(first + uint32(time)) ^ low
                word = uint32((word ^ (word >> uint32(16))) * uint32(0x7FEB352D))
                word = uint32((word ^ (word >> uint32(15))) * uint32(0x846CA68B))
                words[time] = uint32((word ^ (word >> uint32(16))) + high) >> uint32(16)
            for time in range(times):
                value[time] = noise * quantiles[words[time]]
            for factor in range(paths.shape[1]):
                loading = loadings[variate, factor]
                for time in range(times):
                    value[time] += loading * paths[row, factor, begin + time]
            for time in range(times):
                values[row, number, time] = value[time]
