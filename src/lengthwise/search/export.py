"""A search's results for other tools: Parquet, CSV, an Optuna study."""

from pathlib import Path
from typing import Any, Literal

import polars

from lengthwise.errors import InputError, require
from lengthwise.files import write_with
from lengthwise.search.folder import SearchFolder
from lengthwise.search.objective import maximised, ranked


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

    A trial's value is the best objective of all its weights. Those that diverged are marked as
    failed. User attributes say which trial of ours it is, the weights of its value and the value of
    the raw weights.
    """
    optuna = _import_optuna()
    trials = _optuna_trials(optuna, folder)
    direction = "maximize" if maximised(folder.objective) else "minimize"
    try:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(storage=storage, study_name=name, direction=direction)
    except optuna.exceptions.DuplicatedStudyError as error:
        raise InputError(
            f"study = {name!r}: expected a name that {storage} does not have yet"
        ) from error
    except Exception as error:  # whatever the database behind it raises
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"storage = {storage!r}: cannot be used by Optuna ({reason})") from error
    study.add_trials(trials)
    return len(trials)


def _optuna_trials(optuna: Any, folder: SearchFolder) -> list[Any]:
    described = folder.description["space"]["hyperparameters"]
    table = folder.table()
    best = {row["trial"]: row for row in ranked(table, folder.objective).iter_rows(named=True)}
    try:
        return [
            _optuna_trial(optuna, raw, best.get(raw["trial"]), folder.objective, described)
            for raw in table.filter(weights="raw").iter_rows(named=True)
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(
            f"{folder.path / 'search.json'} is damaged: its space is not that of the chunks "
            f"({reason})"
        ) from error


def _optuna_trial(
    optuna: Any,
    raw: dict[str, Any],
    best: dict[str, Any] | None,
    objective: str,
    described: dict[str, Any],
) -> Any:
    params: dict[str, Any] = {}
    distributions: dict[str, Any] = {}
    for name, description in described.items():
        active, description = _active(description, raw)
        if active:
            distributions[name] = _distribution(optuna.distributions, description)
            params[name] = _category(raw[name])
    if best is None:
        outcome = {"state": optuna.trial.TrialState.FAIL, "value": None}
        attributes = {"trial": raw["trial"], "diverged at step": raw["diverged"]}
    else:
        outcome = {"state": optuna.trial.TrialState.COMPLETE, "value": best[objective]}
        kept = ("trial", "weights", "ema_power", "bias_power")
        attributes = {name: best[name] for name in kept} | {f"raw {objective}": raw[objective]}
    return optuna.trial.create_trial(
        **outcome, params=params, distributions=distributions, user_attrs=attributes
    )


def _category(value: Any) -> Any:
    """A value as Optuna can hold it: it knows no lists."""
    return str(tuple(value)) if isinstance(value, list) else value


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
        return kinds.CategoricalDistribution([*map(_category, description["choice"])])
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
