"""Heat maps of powers."""

import numpy as np

from lengthwise.report.powers import draw_powers, grid_of_powers
from lengthwise.report.style import new_figure


def test_the_grid_has_bias_powers_across_and_plain_ema_last() -> None:
    asked: list[str] = []

    def place(kind: str) -> int:
        asked.append(kind)
        return len(asked)

    grid = grid_of_powers(place, (0.5, 0.9), (0.2,))
    assert asked == ["BEMA 0.5 0.2", "EMA 0.5", "BEMA 0.9 0.2", "EMA 0.9"]
    assert grid.tolist() == [[1, 2], [3, 4]]


def test_colours_follow_the_gain_and_texts_the_value() -> None:
    axes = new_figure(4, 3).subplots()
    values = np.array([[0.5, 2.0]])
    draw_powers(axes, values, 1 / values, (0.5,), (0.2,), digits=1)
    assert [text.get_text() for text in axes.texts] == ["0.5", "2.0"]
    drawn = axes.images[0].get_array()
    assert drawn is not None
    better, worse = drawn[0]
    assert better == -worse > 0
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.2", "EMA"]
