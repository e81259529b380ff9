import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Rectangle

from lengthwise.errors import InputError
from lengthwise.othello import Position, positions, random_games
from lengthwise.othello.position import squares_in
from lengthwise.report.boards import BoardPicture, contrast, draw_boards
from lengthwise.report.style import COLOURS, as_svg, save

SIZES = st.sampled_from([4, 6, 8])


def a_position(board: int, game: int, moves: int) -> Position:
    played = random_games(1, 0, board, game, threads=1)
    first = played.moves[0, : min(moves, played.lengths[0])].tolist()
    return list(positions(first, board))[-1]


def a_distribution(board: int, position: Position, illegal: float) -> dict[int, float]:
    """So much on illegal squares, most of it on the first one."""
    squares = [8 * row + column for row in range(board) for column in range(board)]
    legal = squares_in(position.legal)
    others = [square for square in squares if square not in legal]
    weights = {square: 1.0 / 4**place for place, square in enumerate(others)}
    total = sum(weights.values())
    found = {square: illegal * weight / total for square, weight in weights.items()}
    return found | {square: (1 - illegal) / len(legal) for square in legal}


def centres(axes, kind, **look):
    """The squares on which patches of a kind are drawn."""
    found = set()
    for patch in axes.patches:
        if type(patch) is not kind:
            continue
        if any(getattr(patch, f"get_{name}")() != value for name, value in look.items()):
            continue
        if kind is Circle:
            column, row = patch.center
        else:
            column, row = patch.get_x() + patch.get_width() / 2, patch.get_y() + 0.4
        found.add(8 * round(row) + round(column))
    return found


def shades(axes) -> dict[int, str]:
    whole = [p for p in axes.patches if type(p) is Rectangle and p.get_width() == 1]
    return {
        8 * round(p.get_y() + 0.5) + round(p.get_x() + 0.5): to_hex(p.get_facecolor())
        for p in whole
    }


def written(axes: Any) -> dict[int, Any]:
    texts = [text for text in axes.texts if text.get_ha() == "center"]
    return {8 * round(t.get_position()[1]) + round(t.get_position()[0]): t for t in texts}


@settings(max_examples=10)
@given(board=SIZES, game=st.integers(0, 50), moves=st.integers(0, 60))
def test_discs_and_legal_squares_are_where_they_belong(board, game, moves):
    position = a_position(board, game, moves)
    (axes,) = draw_boards([BoardPicture(position, "a title")]).axes
    black, white = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)
    assert centres(axes, Circle, facecolor=black) == set(squares_in(position.black))
    assert centres(axes, Circle, facecolor=white) == set(squares_in(position.white))
    assert centres(axes, Rectangle, fill=False) == set(squares_in(position.legal))
    assert len(set(shades(axes).values())) == 1
    assert not written(axes)


@settings(max_examples=10)
@given(
    board=SIZES,
    game=st.integers(0, 50),
    moves=st.integers(1, 8),
    illegal=st.floats(0.02, 0.98),
)
def test_shades_and_numbers_say_the_probabilities(board, game, moves, illegal):
    position = a_position(board, game, moves)
    if not position.legal:
        return
    probabilities = a_distribution(board, position, illegal)
    (axes,) = draw_boards([BoardPicture(position, "", "", probabilities)]).axes
    numbers, colours = written(axes), shades(axes)
    assert set(numbers) == {square for square, p in probabilities.items() if p >= 0.01}
    for square, text in numbers.items():
        assert text.get_text() == f"{100 * probabilities[square]:.0f}"
        below = colours[square]
        if position.black >> square & 1:
            below = "#000000"
        if position.white >> square & 1:
            below = "#ffffff"
        assert contrast(to_hex(text.get_color()), below) >= 4.5
    legal = squares_in(position.legal)
    top = max(probabilities, key=probabilities.__getitem__)
    assert colours[top] == COLOURS["blue" if top in legal else "orange"]
    for square, p in probabilities.items():
        red, _, blue = (int(colours[square][k : k + 2], 16) for k in (1, 3, 5))
        if p >= 0.01:
            assert (blue > red) == (square in legal)


@given(colour=st.integers(0, 2**24 - 1).map(lambda number: f"#{number:06x}"))
def test_contrast_is_that_of_wcag(colour):
    assert contrast(colour, colour) == 1
    assert math.isclose(contrast("#000000", "#ffffff"), 21)
    assert math.isclose(contrast("#777777", "#ffffff"), 4.48, abs_tol=0.005)  # a known near miss
    assert max(contrast(colour, ink) for ink in ("#000000", "#ffffff")) >= 4.5


def test_boards_share_one_scale():
    position = Position.start(4)
    legal = squares_in(position.legal)
    sure, unsure = {legal[0]: 0.9}, {legal[0]: 0.1}
    first, second = draw_boards(
        [BoardPicture(position, "", "", sure), BoardPicture(position, "", "", unsure)]
    ).axes
    assert shades(first)[legal[0]] == COLOURS["blue"]
    assert shades(second)[legal[0]] != COLOURS["blue"]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("size", [4, 8])
def test_nothing_is_cut_off_or_covered(count, size):
    position = Position.start(size)
    probabilities = dict.fromkeys(squares_in(position.legal), 0.25)
    title, note = "after 100 moves (not trained)", "black to move: TVD 0.000, illegal 100.0 %"
    figure = draw_boards([BoardPicture(position, title, note, probabilities)] * count)
    figure.draw_without_rendering()
    assert len(figure.axes) == count
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    boxes: list[Any] = [box, *(axes.get_tightbbox() for axes in figure.axes)]
    for one in boxes:
        assert whole.x0 <= one.x0 < one.x1 <= whole.x1
        assert whole.y0 <= one.y0 < one.y1 <= whole.y1
    for place, one in enumerate(boxes):
        assert one.count_overlaps(boxes[place + 1 :]) == 0
    for axes in figure.axes:
        extent = axes.get_window_extent()
        assert math.isclose(extent.width, extent.height)


def test_rows_and_columns_are_named_as_in_transcripts():
    (axes,) = draw_boards([BoardPicture(Position.start(6), "a title", "a note")]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == list("abcdef")
    assert [label.get_text() for label in axes.get_yticklabels()] == list("123456")
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "row 1 is at the top"
    assert axes.get_title(loc="left") == "a title"
    assert [text.get_text() for text in axes.texts] == ["a note"]


def test_the_legend_speaks_of_what_is_there():
    def words(**given):
        (legend,) = draw_boards([BoardPicture(Position.start(4), "", **given)]).legends
        return [text.get_text() for text in legend.get_texts()]

    assert words() == ["legal square"]
    assert words(probabilities={0: 1.0})[1:] == ["% on legal", "% on illegal"]


def test_every_format_can_be_written(tmp_path):
    boards = [BoardPicture(Position.start(8), "a title", "", {0: 0.5, 19: 0.5})]
    for suffix in ("svg", "png", "pdf"):
        save(draw_boards(boards), tmp_path / f"board.{suffix}")
        assert (tmp_path / f"board.{suffix}").stat().st_size > 1000
    assert as_svg(draw_boards(boards)) == as_svg(draw_boards(boards))


@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(InputError, match=r"probability = .*: expected a number from 0 to 1"):
        draw_boards([BoardPicture(Position.start(4), "", "", {0: bad})])


def test_no_board_is_refused():
    with pytest.raises(InputError, match=r"boards = .*: expected at least one"):
        draw_boards([])
