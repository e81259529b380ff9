"""Compiled code of series. Imported where it is used: its compiler takes a while to load."""

from numpy import float32, float64, int32, int64
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
    words: NDArray[int32],
    quantiles: NDArray[float64],
    noise: float,
    values: NDArray[float32],
) -> None:
    """Write `values`, `(inputs, variates, times)`, of variates that follow `paths` with a lag.

    The paths, `(inputs, factors, times)`, begin earlier by as much as they are longer. To each
    value comes the normal number of its random word, times `noise`.
    """
    earlier = paths.shape[2] - values.shape[2]
    for row in range(values.shape[0]):
        for number in range(values.shape[1]):
            variate = chosen[row, number]
            begin = earlier - lags[variate]
            for time in range(values.shape[2]):
                value = noise * quantiles[(words[row, number, time] >> 16) & 0xFFFF]
                for factor in range(paths.shape[1]):
                    value += loadings[variate, factor] * paths[row, factor, begin + time]
                values[row, number, time] = value
