"""A search's results for other tools: Parquet, CSV, an Optuna study."""

from pathlib import Path
from typing import Any, Literal

import polars

from lengthwise.errors import InputError, require
from lengthwise.files import write_with
from lengthwise.search.folder import SearchFolder
from lengthwise.search.run import OBJECTIVE


def to_file(folder: SearchFolder, path: Path, kind: Literal["parquet", "csv"]) -> int:
    """Write the table to a new file; the number of rows."""
    require(not path.exists(), "to", str(path), "a file that does not exist yet")
    table = folder.table()
    if kind == "csv":
        # CSV knows no lists: hyper-parameters that are several numbers become text.
        table = table.with_columns(polars.col(polars.List).list.eval(
            polars.element().cast(polars.String)).list.join(" "))  # fmt: skip
        write_with(path, lambda temporary: table.write_csv(temporary))
    else:
        write_with(path, lambda temporary: table.write_parquet(temporary))
    return len(table)


def to_optuna(folder: SearchFolder, storage: str, name: str) -> int:
    """Fill a new Optuna study with the trials; how many they are.

    A trial's value is its least objective over all its weights. Those that diverged are marked as
    failed. User attributes say which trial of ours it is, the weights of its value and the value of
    the raw weights.
    """
    optuna = _import_optuna()
    try:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(storage=storage, study_name=name, direction="minimize")
    except optuna.exceptions.DuplicatedStudyError as error:
        raise InputError(
            f"study = {name!r}: expected a name that {storage} does not have yet"
        ) from error
    except Exception as error:  # whatever the database behind it raises
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"storage = {storage!r}: cannot be used by Optuna ({reason})") from error
    described = folder.description["space"]["hyperparameters"]
    trials = [
        _optuna_trial(optuna, number, rows, described)
        for (number,), rows in folder.table().group_by("trial", maintain_order=True)
    ]
    study.add_trials(trials)
    return len(trials)


def _optuna_trial(
    optuna: Any, number: object, rows: polars.DataFrame, described: dict[str, Any]
) -> Any:
    first = rows.row(0, named=True)
    params: dict[str, Any] = {}
    distributions: dict[str, Any] = {}
    for name, description in described.items():
        active, description = _active(description, first)
        if not active:
            continue
        distributions[name] = _distribution(optuna.distributions, description)
        value = first[name]
        params[name] = str(tuple(value)) if isinstance(value, list) else value
    best = rows.sort(OBJECTIVE).row(0, named=True)
    failed = first["diverged"] is not None
    attributes = {
        "trial": number,
        "weights": best["weights"],
        "ema_power": best["ema_power"],
        "bias_power": best["bias_power"],
        f"raw {OBJECTIVE}": first[OBJECTIVE],
    }
    if failed:
        attributes = {"trial": number, "diverged at step": first["diverged"]}
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE,
        value=None if failed else best[OBJECTIVE],
        params=params,
        distributions=distributions,
        user_attrs=attributes,
    )


def _active(description: dict[str, Any], values: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether a hyper-parameter was drawn in a trial, and the distribution it was drawn from."""
    if "fixed" in description:
        return False, {}
    if "when" in description:
        ((name, equals),) = description["when"].items()
        return values[name] == equals, description["then"]
    return True, description


def _distribution(kinds: Any, description: dict[str, Any]) -> Any:
    """The Optuna distribution of the same range."""
    if "uniform" in description:
        return kinds.FloatDistribution(*description["uniform"])
    if "log_uniform" in description:
        return kinds.FloatDistribution(*description["log_uniform"], log=True)
    if "integers" in description:
        return kinds.IntDistribution(*description["integers"])
    if "choice" in description:
        values = description["choice"]
        return kinds.CategoricalDistribution(
            [str(tuple(value)) if isinstance(value, list) else value for value in values]
        )
    # Sometimes: Optuna knows no mixtures, so the range is what holds both parts.
    then = _distribution(kinds, description["sometimes"])
    otherwise = description["otherwise"]
    if isinstance(then, kinds.CategoricalDistribution):
        return kinds.CategoricalDistribution([otherwise, *then.choices])
    low, high = min(otherwise, then.low), max(otherwise, then.high)
    if isinstance(then, kinds.IntDistribution):
        return kinds.IntDistribution(low, high)
    return kinds.FloatDistribution(low, high)


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "to = 'optuna': needs Optuna; install it with: pip install 'lengthwise[optuna]'"
        ) from error
    return optuna
