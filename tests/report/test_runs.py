"""The table that `lengthwise show` prints, with few averages and with many."""

import io
from collections.abc import Sequence

import polars
import pytest
from rich.console import Console

from lengthwise.measures import Baseline, baselines
from lengthwise.report.runs import plot_run, run_baseline, summary_table
from lengthwise.runs import recipe_for
from lengthwise.tasks import Othello

LENGTHS = range(1, 32)


def measures(ema_powers: int, bias_powers: int) -> polars.DataFrame:
    """A run's table; the value is the length, plus 100 per EMA power and 1000 per bias power."""
    kinds = [("raw", None, None)]
    for ema in range(1, ema_powers + 1):
        kinds.append(("ema", ema / 10, None))
        kinds += [("bema", ema / 10, bias / 10) for bias in range(1, bias_powers + 1)]
    return polars.DataFrame(
        [
            {
                "model": 0, "weights": weights, "ema_power": ema, "bias_power": bias,
                "length": length, "measure": "tvd", "diverged": None,
                "value": length + 1000 * (ema or 0) + 10_000 * (bias or 0),
            }
            for weights, ema, bias in kinds
            for length in LENGTHS
        ],
        schema_overrides={"diverged": polars.Int64, "ema_power": polars.Float64,
                          "bias_power": polars.Float64},
        infer_schema_length=None,
    )  # fmt: skip


GUESSES = [Baseline("tvd", n, n / 10, n / 20, 100, False) for n in LENGTHS]


def printed(table: polars.DataFrame, baseline: Sequence[Baseline] = ()) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(summary_table(table, "tvd", 16, baseline))
    return out.getvalue()


def test_few_averages_stand_side_by_side() -> None:
    text = printed(measures(1, 1))
    rows = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    assert [int(row[1]) for row in rows] == list(LENGTHS)
    assert [float(cell) for cell in rows[6][2:5]] == [7, 107, 1107]


@pytest.mark.parametrize(("ema_powers", "bias_powers"), [(2, 3), (4, 6)])
def test_many_averages_stand_below_each_other(ema_powers: int, bias_powers: int) -> None:
    text = printed(measures(ema_powers, bias_powers))
    rows = [line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│")]
    assert "BEMA 0.2 0.3" in text  # on one line
    assert len(rows) == 1 + ema_powers * (1 + bias_powers)
    assert rows[0][0].strip() == "raw"
    within, beyond, first, *_, last = (float(cell) for cell in rows[0][1:])
    assert (within, first, last) == (8.5, 1, 31)
    assert beyond == pytest.approx(24)
    assert all(cell.strip() for row in rows for cell in row)


def test_what_can_be_had_without_reading_stands_beside_it() -> None:
    text = printed(measures(1, 1), GUESSES)
    rows = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    assert "chance" in text
    assert "length only" in text
    assert [float(cell) for cell in rows[6][5:7]] == [0.7, 0.35]
    text = printed(measures(4, 6), GUESSES)
    rows = [line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows[-2:]] == ["chance", "length only"]
    assert float(rows[-2][1]) == pytest.approx(0.85)


def test_thin_lines_show_it_in_a_figure() -> None:
    lines = plot_run(measures(1, 1), "tvd", 16, GUESSES).axes[0].lines
    by_label = {line.get_label(): list(line.get_ydata()) for line in lines}
    assert by_label["chance"] == [one.chance for one in GUESSES]
    assert by_label["length only"] == [one.length_only for one in GUESSES]
    same = [Baseline("tvd", n, 0.5, 0.5, 100, True) for n in LENGTHS]
    labels = [line.get_label() for line in plot_run(measures(1, 1), "tvd", 16, same).axes[0].lines]
    assert "chance" in labels
    assert "length only" not in labels, "it would hide the other line"


def test_a_run_is_set_beside_the_baselines_of_what_it_is_tested_on() -> None:
    recipe = recipe_for(Othello(4), max_train_length=3)
    table = measures(0, 0).filter(polars.col("length") < 6)
    expected = [
        one for one in baselines(Othello(4, "held-out"), range(1, 6)) if one.measure == "tvd"
    ]
    assert run_baseline(recipe, table, "tvd") == expected
    assert run_baseline(recipe, table, "entropy") == []
