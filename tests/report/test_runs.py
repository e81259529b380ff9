"""The table that `lengthwise show` prints, with few averages and with many."""

import io

import polars
import pytest
from rich.console import Console

from lengthwise.report.runs import summary_table

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


def printed(table: polars.DataFrame) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(summary_table(table, "tvd", 16))
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
