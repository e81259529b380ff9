"""Othello boards, with the legal squares and what a model makes of every square."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.errors import require
from lengthwise.othello import Position
from lengthwise.report.style import COLOURS, Axes, Figure, house_style, new_figure

EMPTY = "#f4f4ef"
LINES = "#a3a39b"
BLACK, WHITE = "#000000", "#ffffff"
SHADES = {True: COLOURS["blue"], False: COLOURS["orange"]}
"""The colour of probability by whether it lies on a legal square."""

PER_ROW = 4
"""Boards in a row of the figure."""

SIDE, CELL_WIDTH, CELL_HEIGHT, MARGIN, LEGEND = 3.3, 3.65, 4.2, 0.3, 0.45
"""In inches: a board, the room that it takes with its words, what is left of and below all."""

WRITTEN = 0.01
"""Probabilities from here on are written down."""


@dataclass(frozen=True)
class BoardPicture:
    """One board to draw."""

    position: Position
    """The position to draw."""
    title: str
    """What stands above it."""
    note: str = ""
    """A line of its own below the title."""
    probabilities: Mapping[int, float] | None = None
    """Of the next move, by square, 8 * row + column; left out, only the board is drawn."""


@house_style()
def draw_boards(boards: Sequence[BoardPicture]) -> Figure:
    """Draw boards side by side; the shades of all of them are of one scale.

    Args:
        boards: The boards, from left to right.

    Raises:
        InputError: If there is no board, or something is no probability.
    """
    require(len(boards) > 0, "boards", list(boards), "at least one")
    found = [p for board in boards for p in (board.probabilities or {}).values()]
    for probability in found:
        require(0 <= probability <= 1.0001, "probability", probability, "a number from 0 to 1")
    columns, rows = min(len(boards), PER_ROW), math.ceil(len(boards) / PER_ROW)
    figure = new_figure(columns * CELL_WIDTH + MARGIN, rows * CELL_HEIGHT + LEGEND)
    figure.set_layout_engine("none")  # boards are square: where they go is known
    for place, board in enumerate(boards):
        axes = _cell(figure, place % columns, rows - 1 - place // columns)
        _draw(axes, board, darkest=max(found, default=0.0) or 1.0)
    _legend(figure, shaded=bool(found))
    return figure


def _cell(figure: Figure, column: int, row: int) -> Axes:
    """Room for one board, counted from the lower left."""
    width, height = figure.get_size_inches()
    left, bottom = MARGIN + column * CELL_WIDTH, LEGEND + row * CELL_HEIGHT
    return figure.add_axes((left / width, bottom / height, SIDE / width, SIDE / height))


def _draw(axes: Axes, board: BoardPicture, darkest: float) -> None:
    size, legal = board.position.board.size, board.position.legal
    _empty_board(axes, size)
    for row in range(size):
        for square in range(8 * row, 8 * row + size):
            probability = (board.probabilities or {}).get(square, 0.0)
            allowed = bool(legal >> square & 1)
            shade = _mixed(SHADES[allowed], _strength(probability, darkest))
            below = _draw_square(axes, board.position, square, shade)
            if allowed:
                _frame(axes, square)
            if probability >= WRITTEN:
                axes.text(
                    square % 8, square // 8, f"{100 * probability:.0f}", color=_readable(below),
                    fontsize=9, ha="center", va="center_baseline", zorder=4,
                )  # fmt: skip
    axes.set_title(board.title, y=1, pad=38 if board.note else 22)
    axes.annotate(
        board.note, (0, 1), (0, 21), xycoords="axes fraction", textcoords="offset points",
        fontsize=9, color="#444444",
    )  # fmt: skip


def _empty_board(axes: Axes, size: int) -> None:
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size - 0.5, -0.5)  # row 1 is at the top
    axes.set_facecolor(EMPTY)
    axes.grid(visible=False)
    axes.set_xticks(range(size), "abcdefgh"[:size])
    axes.set_yticks(range(size), "12345678"[:size])
    axes.tick_params(length=0, labeltop=True, labelbottom=False, pad=2, labelcolor="#6b6b6b")
    axes.spines[:].set(visible=True, color=LINES, linewidth=1)
    for line in range(1, size):
        axes.axhline(line - 0.5, color=LINES, linewidth=0.7, zorder=2)
        axes.axvline(line - 0.5, color=LINES, linewidth=0.7, zorder=2)


def _draw_square(axes: Axes, position: Position, square: int, shade: str) -> str:
    """Fill one square and put the disc on it that stands there; the colour that is on top."""
    from matplotlib.patches import Circle, Rectangle

    column, row = square % 8, square // 8
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=shade, linewidth=0, zorder=1))
    for colour, discs in ((BLACK, position.black), (WHITE, position.white)):
        if discs >> square & 1:
            disc = Circle(
                (column, row), 0.37, facecolor=colour, edgecolor=BLACK, linewidth=0.8, zorder=3
            )
            axes.add_patch(disc)
            return colour
    return shade


def _frame(axes: Axes, square: int) -> None:
    """What marks a legal square."""
    from matplotlib.patches import Rectangle

    corner = square % 8 - 0.4, square // 8 - 0.4
    axes.add_patch(Rectangle(corner, 0.8, 0.8, fill=False, edgecolor=BLACK, lw=1.4, zorder=3))


def _legend(figure: Figure, *, shaded: bool) -> None:
    """Below the boards, where it covers none of them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    frame = Line2D([], [], lw=0, marker="s", markersize=9, mfc="none", mec=BLACK, mew=1.4)
    shown: dict[str, Any] = {"legal square": frame}
    if shaded:
        shown["% on legal"] = Patch(color=SHADES[True])
        shown["% on illegal"] = Patch(color=SHADES[False])
    figure.legend(
        list(shown.values()), list(shown), loc="lower center", ncols=len(shown),
        fontsize=9, handlelength=1.2, columnspacing=1.4,
    )  # fmt: skip


def _strength(probability: float, darkest: float) -> float:
    """How much colour a probability gets: its root, or little ones would not be seen."""
    return min(1.0, math.sqrt(probability / darkest))


def _mixed(colour: str, strength: float) -> str:
    """So much of a colour on an empty square."""
    from matplotlib.colors import to_hex, to_rgb

    pairs = zip(to_rgb(EMPTY), to_rgb(colour), strict=True)
    red, green, blue = (a + (b - a) * strength for a, b in pairs)
    return str(to_hex((red, green, blue)))


def _readable(background: str) -> str:
    """Black or white, whichever stands out more; at least 4.5 to 1, as WCAG asks of text."""
    return max((BLACK, WHITE), key=lambda ink: contrast(ink, background))


def contrast(one: str, other: str) -> float:
    """How well two colours can be told apart, from 1 to 21, by the formula of WCAG 2.

    Args:
        one: A colour, such as `#1f77b4`.
        other: Another one.
    """
    low, high = sorted(_luminance(colour) + 0.05 for colour in (one, other))
    return high / low


def _luminance(colour: str) -> float:
    from matplotlib.colors import to_rgb

    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
    )
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)
