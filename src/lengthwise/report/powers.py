"""Heat maps of a measure over the powers of EMA and BEMA."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_powers(
    axes: "Axes",
    values: np.ndarray,
    raw: float,
    ema_powers: Sequence[float],
    bias_powers: Sequence[float | None],
) -> None:
    """Draw `values`, EMA powers down and bias powers across, coloured by their ratio to `raw`.

    None among the bias powers is the EMA without correction.
    """
    logs = np.log(values / raw)
    reach = max(abs(logs).max(), 1e-9)
    axes.imshow(logs, cmap="PuOr_r", vmin=-reach, vmax=reach, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        dark = abs(math.log(values[row, column] / raw)) > 0.6 * reach
        axes.text(
            column, row, f"{values[row, column]:.3f}", ha="center", va="center",
            color="white" if dark else "black",
        )  # fmt: skip
    names = ["EMA" if bias is None else f"{bias}" for bias in bias_powers]
    axes.set_xticks(range(len(names)), labels=names)
    axes.set_yticks(range(len(ema_powers)), labels=[f"{power}" for power in ema_powers])
    axes.set_xlabel("bias power")
    axes.set_ylabel("EMA power")
    axes.grid(visible=False)
