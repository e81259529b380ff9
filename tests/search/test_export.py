"""What other tools read is what the search found."""

from pathlib import Path

import polars
import pytest
from search.small import Inline, small_space

from lengthwise.errors import InputError
from lengthwise.runs import recipe_for
from lengthwise.search import (
    Choice,
    Integers,
    LogUniform,
    SearchFolder,
    Sometimes,
    Space,
    Uniform,
    When,
    search,
)
from lengthwise.search.export import to_file, to_optuna
from lengthwise.tasks import SetComplement

optuna = pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SearchFolder:
    """A space with every kind of distribution, and one trial that diverges for sure."""
    recipe = recipe_for(SetComplement(6), max_train_length=3, steps=5, batch=4, test_inputs=20)
    space = Space(
        recipe,
        {
            "grad_clip": 0.0,
            "warmup": 0,
            "model.extra_width": Integers(0, 2),
            "model.remedies": Choice((), ("layernorm",)),
            "model.pre_norm": When("model.remedies", (), Choice(True, False), otherwise=True),
            "learning_rate": Choice(1e-3, 1e30),
            "weight_decay": Sometimes(LogUniform(1e-3, 1.0)),
            "beta2": Uniform(0.9, 0.99),
            "ema_powers": Choice((0.5,), (0.9,)),
        },
    )
    return search(space, 12, tmp_path_factory.mktemp("export") / "s", executor=Inline())


def test_parquet_and_csv_hold_the_table(folder: SearchFolder, tmp_path: Path) -> None:
    table = folder.table()
    assert to_file(folder, tmp_path / "t.parquet", "parquet") == len(table)
    assert polars.read_parquet(tmp_path / "t.parquet").equals(table)
    assert to_file(folder, tmp_path / "t.csv", "csv") == len(table)
    read = polars.read_csv(tmp_path / "t.csv", infer_schema_length=None)
    for name in ("trial", "model.pre_norm", "weights", "beta2", "diverged"):
        assert read[name].to_list() == table[name].to_list()
    assert set(read["ema_powers"].cast(polars.String)) == {"0.5", "0.9"}
    for kind in ("parquet", "csv"):
        with pytest.raises(InputError, match="a file that does not exist yet"):
            to_file(folder, tmp_path / f"t.{kind}", kind)  # type: ignore[arg-type]


def test_an_optuna_study_holds_every_trial(folder: SearchFolder, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    assert to_optuna(folder, storage, "search") == 12
    study = optuna.load_study(study_name="search", storage=storage)
    table = folder.table()
    states = {optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL}
    assert {trial.state for trial in study.trials} == states
    for trial in study.trials:
        rows = table.filter(polars.col("trial") == trial.user_attrs["trial"])
        first = rows.row(0, named=True)
        failed = trial.state == optuna.trial.TrialState.FAIL
        assert failed == (first["diverged"] is not None)
        if not failed:
            assert trial.value == pytest.approx(rows["tvd_beyond"].min())
            assert trial.user_attrs["raw tvd_beyond"] == pytest.approx(first["tvd_beyond"])
        assert ("model.pre_norm" in trial.params) == (first["model.remedies"] == [])
        for name in ("model.extra_width", "learning_rate", "weight_decay", "beta2"):
            assert trial.params[name] == pytest.approx(first[name])
        assert trial.params["ema_powers"] == str(tuple(first["ema_powers"]))
    assert study.best_trial.value == pytest.approx(
        table.filter(polars.col("diverged").is_null())["tvd_beyond"].min()
    )
    assert not study.trials_dataframe().empty
    with pytest.raises(InputError, match=r"expected a name that .* does not have yet"):
        to_optuna(folder, storage, "search")


def test_a_storage_that_cannot_be_used(folder: SearchFolder) -> None:
    with pytest.raises(InputError, match="storage = 'nonsense://x': cannot be used by Optuna"):
        to_optuna(folder, "nonsense://x", "search")


def test_pandas_reads_it_too(folder: SearchFolder) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = folder.table().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(folder.table())


def test_optuna_draws_its_importances(folder: SearchFolder, tmp_path: Path) -> None:
    small = search(small_space(), 10, tmp_path / "s", executor=Inline())
    storage = f"sqlite:///{tmp_path}/study.db"
    to_optuna(small, storage, "small")
    study = optuna.load_study(study_name="small", storage=storage)
    assert set(study.best_params) == set(small_space().searched)
