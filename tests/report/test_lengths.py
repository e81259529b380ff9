import polars
import pytest

from lengthwise.report.lengths import Curve, figure_by_length


def a_figure(lengths: list[int], train_length: int, values: list[float] | None = None):
    rows = polars.DataFrame(
        {
            "seed": [seed for _ in lengths for seed in range(3)],
            "length": [length for length in lengths for _ in range(3)],
            "value": values or [0.1 + 0.01 * seed for _ in lengths for seed in range(3)],
        }
    )
    figure = figure_by_length(
        {"one": Curve(rows, "black")}, train_length, lengths, "value", "title"
    )
    figure.draw_without_rendering()
    return figure.axes[0]


@pytest.mark.parametrize(
    ("lengths", "scale"),
    [(list(range(1, 16)), "linear"), ([8], "linear"), ([8, 64, 1024], "log"), ([64], "log")],
)
def test_lengths_far_apart_get_a_logarithmic_axis(lengths: list[int], scale: str) -> None:
    axes = a_figure(lengths, 8)
    assert axes.get_xscale() == scale
    left, right = axes.get_xlim()
    assert left < lengths[0] <= lengths[-1] < right


@pytest.mark.parametrize("lengths", [[4, 16, 256], [16, 256], [64, 256]])
def test_the_training_length_is_always_on_a_logarithmic_axis(lengths: list[int]) -> None:
    axes = a_figure(lengths, 16)
    left, right = axes.get_xlim()
    assert left < 16 < right
    assert [label.get_text() for label in axes.get_xticklabels()] == list(map(str, lengths))
    assert [text.get_text() for text in axes.texts] == ["trained on lengths up to 16"]


def test_values_below_zero_are_not_cut_off() -> None:
    assert a_figure([1, 2], 1).get_ylim()[0] == 0
    assert a_figure([1, 2], 1, [-2.0, -1, 0, 1, 2, 3]).get_ylim()[0] < -1
