"""Records in, tables out."""

import time

import numpy as np
import polars
import pytest
from search.small import small_space

from lengthwise.runs.table import measure_table
from lengthwise.search.records import Layout, decode, encode, trial_number
from lengthwise.search.table import length_table, trial_table
from lengthwise.search.work import Work

KINDS = (("raw", None, None), ("ema", 0.5, None), ("bema", 0.5, 0.2))


def record(number: int, generator: np.random.Generator, **changes: object) -> bytes:
    header = {
        "trial": number, "factor": None, "values": {"learning_rate": 0.1 / (number + 1)},
        "train_length": 2, "diverged": None,
    } | changes  # fmt: skip
    layout = Layout(("tvd", "kl"), (1, 2, 3, 4), KINDS)
    return encode(header, layout, generator.random(layout.shape).astype("<f4"))


def test_means_within_and_beyond_are_those_of_the_lengths() -> None:
    records = [record(n, np.random.default_rng(n), train_length=1 + n % 3) for n in range(6)]
    table, lengths = trial_table(records), length_table(records)
    assert len(table) == 6 * 3
    assert len(lengths) == 6 * 3 * 4
    for row in table.iter_rows(named=True):
        own = lengths.filter(
            polars.col("trial") == row["trial"], polars.col("weights") == row["weights"]
        )
        inside = polars.col("length") <= row["train_length"]
        for measure in ("tvd", "kl"):
            for part, name in ((inside, "within"), (~inside, "beyond")):
                np.testing.assert_allclose(
                    row[f"{measure}_{name}"], own.filter(part)[measure].mean()
                )


def test_readings_keep_their_places() -> None:
    layout = Layout(("tvd", "kl"), (1, 2, 3), KINDS)
    readings = np.arange(18, dtype="<f4").reshape(layout.shape)
    header = {"trial": 5, "factor": "norm", "values": {"norm": "none"}, "train_length": 1,
              "diverged": 3}  # fmt: skip
    encoded = encode(header, layout, readings)
    assert trial_number(encoded) == 5
    (decoded,) = decode([encoded])
    np.testing.assert_array_equal(decoded.readings[0], readings)
    assert decoded.trials == [header]
    table = length_table([encoded])
    row = table.filter(
        polars.col("weights") == "ema", polars.col("length") == 3
    ).row(0, named=True)  # fmt: skip
    assert (row["tvd"], row["kl"], row["diverged"], row["factor"]) == (10.0, 11.0, 3, "norm")


def test_trials_of_several_layouts_and_kinds_make_one_table() -> None:
    generator = np.random.default_rng(0)
    other = Layout(("tvd", "kl"), (1, 2, 3, 4, 5), (("raw", None, None),))
    header = {"trial": 1, "factor": None, "values": {"learning_rate": 1}, "train_length": 4,
              "diverged": None}  # fmt: skip
    longer = encode(header, other, generator.random(other.shape).astype("<f4"))
    records = [record(2, generator), longer, record(0, generator, diverged=7)]
    table = trial_table(records)
    assert table["trial"].to_list() == [0, 0, 0, 1, 2, 2, 2]
    assert table["learning_rate"].dtype == polars.Float64
    assert table.filter(polars.col("diverged").is_not_null())["trial"].unique().to_list() == [0]


def test_nothing_recorded_gives_an_empty_table() -> None:
    assert trial_table([]).is_empty()
    assert length_table([]).is_empty()


def test_the_table_holds_what_a_run_would_measure() -> None:
    space = small_space()
    trials = [space.trial(0, number) for number in (0, 1)]
    records = [record for trial in trials for record in Work(space, 0).do([trial.number])]
    lengths = length_table(records)
    for trial in trials:
        trainer = trial.recipe.trainer([trial.member])
        while trainer.step < trainer.steps:
            trainer.advance()
        expected = measure_table(trial.recipe, [trial.member], trainer)
        for row in expected.iter_rows(named=True):
            found = lengths.filter(
                polars.col("trial") == trial.number, polars.col("length") == row["length"],
                polars.col("weights") == row["weights"],
            )[row["measure"]]  # fmt: skip
            np.testing.assert_allclose(found.to_numpy(), [row["value"]], rtol=1e-6)


def test_a_hundred_times_more_trials_take_a_hundred_times_longer_at_most() -> None:
    generator = np.random.default_rng(0)
    records = [record(number, generator) for number in range(20_000)]

    def seconds(count: int) -> float:
        start = time.process_time()
        trial_table(records[:count])
        return time.process_time() - start

    seconds(200)
    assert seconds(20_000) < 100 * max(min(seconds(200) for _ in range(3)), 1e-3)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [record(n, np.random.default_rng(n), train_length=1 + n % 3) for n in (4, 0, 3, 1, 2)]
    whole = trial_table(records), length_table(records)
    monkeypatch.setattr("lengthwise.search.records.BLOCK", 2)
    assert trial_table(records).equals(whole[0])
    assert length_table(records).equals(whole[1])
