"""Heat maps of a measure over the powers of EMA and BEMA."""

from collections.abc import Callable, Sequence

import numpy as np

from lengthwise.claims.readings import average_in_words
from lengthwise.report.style import Axes


def grid_of_powers(
    value: Callable[[str], float], ema_powers: Sequence[float], bias_powers: Sequence[float]
) -> np.ndarray:
    """A value per EMA power (rows) and bias power (columns), with plain EMA in the last column.

    `value` is asked for averages in words, such as "BEMA 0.5 0.2" and "EMA 0.5".
    """
    biases = [*bias_powers, None]
    return np.array([[value(average_in_words(e, b)) for b in biases] for e in ema_powers])


def draw_powers(
    axes: Axes,
    values: np.ndarray,
    gains: np.ndarray,
    ema_powers: Sequence[float],
    bias_powers: Sequence[float],
    *,
    reach: float | None = None,
    digits: int = 3,
) -> None:
    """Draw a grid of powers.

    Args:
        axes: Where to draw.
        values: What is written down, as `grid_of_powers` gives it.
        gains: How many times better than raw weights each is, which gives the colours.
        ema_powers: The rows.
        bias_powers: The columns; plain EMA follows them.
        reach: The gain at which colours end; the largest there is if not given.
        digits: Decimal places that are written.
    """
    logs = np.log(gains)
    end = max(abs(logs).max(), 1e-9) if reach is None else np.log(reach)
    axes.imshow(logs, cmap="PuOr", vmin=-end, vmax=end, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        axes.text(
            column, row, f"{values[row, column]:.{digits}f}", ha="center", va="center",
            color="white" if abs(logs[row, column]) > 0.6 * end else "black",
        )  # fmt: skip
    axes.set_xticks(range(len(bias_powers) + 1), labels=[*map(str, bias_powers), "EMA"])
    axes.set_yticks(range(len(ema_powers)), labels=[f"{power}" for power in ema_powers])
    axes.set(xlabel="bias power", ylabel="EMA power")
    axes.grid(visible=False)
