"""How all figures look: colours that colour-blind readers can tell apart, and no clutter."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # names for annotations: matplotlib itself is imported when something is drawn
    Axes = Figure = object

COLOURS = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "purple": "#8e4585",
    "grey": "#6b6b6b",
}
"""After Okabe and Ito; dark enough for thin lines on white."""

_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "svg.hashsalt": "lengthwise",  # the same figure gives the same file
}


@contextmanager
def house_style() -> Iterator[None]:
    """Inside, figures are drawn in the style of the project, without a screen.

    Above a function that draws, `@house_style()` does the same.
    """
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure that belongs to no window, laid out so that nothing is cut off.

    Args:
        width: In inches.
        height: In inches.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def new_panels(width: float, height: float, *grid: int, **sharing: Any) -> tuple[Figure, Any]:
    """A new figure with axes: one, or a grid of so many rows and columns.

    Args:
        width: In inches.
        height: In inches.
        *grid: Rows and columns; nothing for one set of axes.
        **sharing: Whether axes share x or y, as in `Figure.subplots`.
    """
    figure = new_figure(width, height)
    return figure, figure.subplots(*grid, **sharing)


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that its name ends in.

    Args:
        figure: The figure.
        path: The file to write.

    Raises:
        InputError: The name ends in none of .png, .svg and .pdf.
    """
    from lengthwise.errors import require
    from lengthwise.files import write_with

    suffix = path.suffix.lstrip(".").lower()
    require(
        suffix in ("png", "svg", "pdf"), "figure", str(path), "a name ending in .png, .svg or .pdf"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with house_style():
        write_with(path, lambda temporary: figure.savefig(temporary, format=suffix))


def as_svg(figure: Figure) -> str:
    """The figure as an `<svg>` element to stand inside a page.

    Args:
        figure: The figure.
    """
    import io

    with house_style():
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
