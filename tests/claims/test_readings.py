"""What claims read out of tables."""

import math

import polars
import pytest

from lengthwise.claims.readings import (
    average_in_words,
    best_average,
    chosen_on_other_seeds,
    paired_ratio,
    slope,
    weights_in_words,
)


def test_a_ratio_is_taken_within_the_seeds_that_both_have() -> None:
    one = paired_ratio({0: 2.0, 1: 8.0, 2: 99.0}, {0: 1.0, 1: 1.0, 3: 99.0})
    assert (one.mean, one.count) == (pytest.approx(4.0), 2)


@pytest.mark.parametrize("rate", [-1.0, 0.0, 0.5])
def test_a_power_law_has_its_slope(rate: float) -> None:
    lengths = [1, 2, 4, 8]
    assert slope(lengths, [3 * length**rate for length in lengths]) == pytest.approx(rate)


def test_weights_are_named_alike_in_tables_and_alone() -> None:
    table = polars.DataFrame(
        {
            "weights": ["raw", "ema", "bema"],
            "ema_power": [None, 0.5, 0.5],
            "bias_power": [None, None, 0.2],
        }
    )
    named = table.select(weights_in_words())["weights"].to_list()
    assert named == ["raw", average_in_words(0.5), average_in_words(0.5, 0.2)]
    assert named[1:] == ["EMA 0.5", "BEMA 0.5 0.2"]


def rows(values: dict[tuple[int, str], float]) -> polars.DataFrame:
    return polars.DataFrame(
        [(seed, kind, value) for (seed, kind), value in values.items()],
        schema=["seed", "kind", "value"],
        orient="row",
    )


def test_the_choice_of_a_seed_does_not_see_its_own_numbers() -> None:
    """Each seed has an average that is best for it alone; the other seeds agree on a third."""
    table = rows({
        (0, "EMA 0.1"): 0.01, (0, "EMA 0.2"): 9.0, (0, "EMA 0.3"): 1.0,
        (1, "EMA 0.1"): 9.0, (1, "EMA 0.2"): 0.01, (1, "EMA 0.3"): 1.0,
        (2, "EMA 0.1"): 9.0, (2, "EMA 0.2"): 9.0, (2, "EMA 0.3"): 1.0,
    })  # fmt: skip
    assert best_average(table, "EMA") == "EMA 0.1"
    chosen = chosen_on_other_seeds(table, "EMA")
    assert dict(chosen.select("seed", "value").iter_rows()) == {0: 9.0, 1: 9.0, 2: 9.0}


def test_averages_of_another_kind_are_not_chosen() -> None:
    table = rows({(0, "BEMA 0.1 0.2"): 0.1, (0, "EMA 0.1"): 0.5, (0, "raw"): 0.01})
    assert best_average(table, "EMA") == "EMA 0.1"
    assert math.isclose(chosen_on_other_seeds(table, "EMA")["value"][0], 0.5), "there is no other"
