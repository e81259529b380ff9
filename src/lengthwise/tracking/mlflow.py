"""MLflow, in a database in the folder unless MLFLOW_TRACKING_URI says otherwise."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lengthwise.tracking._base import flat

MOST_CHARACTERS = 500
"""Of a parameter: all that MLflow keeps in every one of its stores."""

MOST_PARAMETERS = 100
"""That it takes at once."""


class MLflowSink:
    """A run of its own client, which leaves the program's current run alone."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        """Begin a run."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        # In files where there is no database: MLflow without its server brings none.
        place = os.environ.get("MLFLOW_TRACKING_URI") or _store(folder)
        self._client, self._metric = MlflowClient(place), Metric
        title = os.environ.get("MLFLOW_EXPERIMENT_NAME", "lengthwise")
        found = self._client.get_experiment_by_name(title)
        experiment = found.experiment_id if found else self._client.create_experiment(title)
        self._run = self._client.create_run(experiment, run_name=name).info.run_id
        own = [Param(_named(key), str(one)[:MOST_CHARACTERS]) for key, one in flat(config).items()]
        for first in range(0, len(own), MOST_PARAMETERS):
            self._client.log_batch(self._run, params=own[first : first + MOST_PARAMETERS])

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All at once."""
        import time

        now = int(time.time() * 1000)
        rows = [self._metric(_named(name), one, now, step) for name, one in values.items()]
        self._client.log_batch(self._run, metrics=rows)

    def close(self) -> None:
        """End the run."""
        self._client.set_terminated(self._run)


def _store(folder: Path) -> str:
    from importlib.util import find_spec

    if find_spec("sqlalchemy") is not None and find_spec("alembic") is not None:
        return f"sqlite:///{(folder / 'mlflow.db').resolve()}"
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return (folder / "mlruns").resolve().as_uri()


def _named(name: str) -> str:
    """A name of letters, digits and what else MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)


open_sink = MLflowSink
