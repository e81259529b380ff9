"""A chunk's file in, tables out."""

import time
from pathlib import Path

import numpy as np
import polars
import pytest
from search.small import small_space

from lengthwise.measures.baselines import HIGH_IS_GOOD
from lengthwise.runs.table import measure_table
from lengthwise.search import Choice
from lengthwise.search.objective import maximised
from lengthwise.search.table import file_name, length_table, read_content, trial_table
from lengthwise.search.work import Work

SPACE = small_space(
    {
        "task.vocab": Choice(6, 7),
        "weight_decay": Choice(0, 0.5),
        "ema_powers": Choice((), (0.5,), (1, 0.5)),
    }
)


def files(folder: Path, *chunks: list[int]) -> list[Path]:
    """The chunks' files."""
    paths = []
    for chunk in chunks:
        content = Work(SPACE, 0).train(chunk)
        paths.append(folder / file_name(content))
        paths[-1].write_bytes(content)
    return paths


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return files(tmp_path_factory.mktemp("chunks"), *([number] for number in (4, 0, 3, 1, 2, 9)))


def test_means_within_and_beyond_are_those_of_the_lengths(chunks: list[Path]) -> None:
    table, lengths = trial_table(chunks), length_table(chunks)
    for row in table.iter_rows(named=True):
        own = lengths.filter(
            polars.col("trial") == row["trial"],
            polars.col("weights") == row["weights"],
            polars.col("ema_power").eq_missing(row["ema_power"]),
        )
        assert own["length"].to_list() == list(range(1, row["task.vocab"]))
        inside = polars.col("length") <= row["max_train_length"]
        for measure in ("tvd", "kl"):
            for part, name in ((inside, "within"), (~inside, "beyond")):
                np.testing.assert_allclose(
                    row[f"{measure}_{name}"], own.filter(part)[measure].mean(), rtol=1e-12
                )


def test_trials_of_several_shapes_and_types_make_one_table(chunks: list[Path]) -> None:
    table = trial_table(chunks)
    assert table["trial"].is_sorted()
    assert set(table["task.vocab"]) == {6, 7}
    assert table["weight_decay"].dtype == polars.Float64, "even where all are whole numbers"
    assert table["ema_powers"].dtype == polars.List(polars.Float64)
    for row in table.iter_rows(named=True):
        values = SPACE.trial(0, row["trial"]).values
        assert {name: row[name] for name in values} == {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }


def test_nothing_recorded_gives_an_empty_table() -> None:
    assert trial_table([]).is_empty()
    assert length_table([]).is_empty()


def test_the_table_holds_what_a_run_would_measure(chunks: list[Path]) -> None:
    lengths = length_table(chunks)
    for number in (0, 9):
        trial = SPACE.trial(0, number)
        trainer = trial.recipe.trainer([trial.hyperparameters])
        trainer.run()
        expected = measure_table(trial.recipe, trainer)
        for row in expected.iter_rows(named=True):
            found = lengths.filter(
                polars.col("trial") == trial.number, polars.col("length") == row["length"],
                polars.col("weights") == row["weights"],
                polars.col("ema_power").eq_missing(row["ema_power"]),
            )[row["measure"]]  # fmt: skip
            np.testing.assert_allclose(found.to_numpy(), [row["value"]], rtol=1e-6)


def test_a_hundred_times_more_trials_take_a_hundred_times_longer_at_most(
    chunks: list[Path], tmp_path: Path
) -> None:
    frame = polars.read_parquet(chunks[0])
    many = []
    for number in range(1000):
        path = tmp_path / "chunk"
        frame.with_columns(trial=polars.lit(number, polars.Int64)).write_parquet(path)
        many.append(path.rename(tmp_path / file_name(path.read_bytes())))

    def seconds(count: int) -> float:
        start = time.process_time()
        assert trial_table(many[:count])["trial"].n_unique() == count
        return time.process_time() - start

    seconds(10)
    assert seconds(1000) < 100 * max(min(seconds(10) for _ in range(3)), 1e-3)


def test_some_columns_of_a_content(chunks: list[Path]) -> None:
    read = read_content(chunks[0].read_bytes(), ["trial", "tvd_beyond"])
    assert read.columns == ["trial", "tvd_beyond"]
    assert set(read["trial"]) == {4}


@pytest.mark.parametrize("name", HIGH_IS_GOOD)
def test_of_every_score_more_is_better(name: str) -> None:
    """Or a search would keep the worst trials."""
    assert maximised(f"{name}_beyond")
    assert not maximised("tvd_beyond")
    assert not maximised("excess_mse_within")
