import re

from lengthwise.report.remedies import small_svg
from lengthwise.report.style import new_panels


def test_a_small_file_keeps_its_words_and_rounds_its_coordinates() -> None:
    figure, axes = new_panels(3.0, 2.0)
    axes.plot([0, 1 / 3], [0.03125, 0.0625])
    axes.set_yticks([0.03125, 0.0625], labels=["0.03125", "0.0625"])
    text = small_svg(figure)
    assert {"0.03125", "0.0625"} <= set(re.findall(r">\s*([\d.]+)\s*<", text))
    assert not re.search(r' d="[^"]*\d\.\d\d', text)
