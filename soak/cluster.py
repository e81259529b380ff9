"""A cluster whose nodes come and go: every trial and every cell once, with the same numbers.

Real Ray nodes on this machine are started and killed at random while a search and a comparison run.
Ten seconds of a node stand for an hour (ours): 240 seconds of nodes that are there are a simulated
day. The head stays, as the command that was started runs on it. A case is one search or one
comparison with all that happens to its nodes meanwhile.
"""

import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soak._harness import Record, arguments, chance, import_everything
from soak.seeds import SPACE
from soak.small import Inline, small_study

HOURS = 24
SECONDS_PER_HOUR = 10.0
"""Of a node's life, for one simulated hour. Ours."""
TRIALS = 40
KINDS = 2
"""A search and a comparison, at the least."""
NODES = 3
"""So many nodes at most beside the head."""


class Weather:
    """Starts and kills nodes at random whenever it is told of progress, and counts."""

    def __init__(self, cluster: Any, rng: random.Random) -> None:
        """Begin with the head alone."""
        self.came = self.went = self.stillborn = 0
        self.node_seconds = 0.0
        self._cluster, self._rng = cluster, rng
        self._nodes: list[tuple[Any, float]] = []
        self._next = 0.0

    def report(self, progress: object) -> None:
        """What a search calls about twice a second; now and then something happens."""
        if time.monotonic() < self._next:
            return
        few = len(self._nodes) == 0 or (len(self._nodes) < NODES and self._rng.random() < 0.5)
        if few:
            try:
                self._nodes.append((self._cluster.add_node(num_cpus=1), time.monotonic()))
                self.came += 1
            except Exception:  # on a busy machine a node may not come up in time: weather as well
                self.stillborn += 1
        else:
            self._lose(self._rng.randrange(len(self._nodes)))
        self._next = time.monotonic() + self._rng.expovariate(1 / 2.0)

    def _lose(self, place: int) -> None:
        node, since = self._nodes.pop(place)
        self._cluster.remove_node(node, allow_graceful=False)
        self.went += 1
        self.node_seconds += time.monotonic() - since

    def end(self) -> None:
        """Take away the nodes that are left."""
        while self._nodes:
            self._lose(0)


def run_case(number: int, cluster: Any, folder: Path) -> dict[str, Any]:
    """One search or comparison in that weather, as a line of the record."""
    weather = Weather(cluster, chance("cluster", number))
    try:
        do = _search if number % 2 == 0 else _compare
        wrong, jobs = do(folder, weather.report)
    finally:
        weather.end()
    return {
        "kind": "search" if number % 2 == 0 else "comparison", "jobs": jobs,
        "came": weather.came, "went": weather.went, "stillborn": weather.stillborn,
        "node_seconds": round(weather.node_seconds, 1),
        "simulated_hours": round(weather.node_seconds / SECONDS_PER_HOUR, 3), "wrong": wrong,
    }  # fmt: skip


def _search(folder: Path, report: Callable[[object], None]) -> tuple[list[str], int]:
    from lengthwise.search import RayExecutor, search
    from lengthwise.search.space import space_from_text

    space = space_from_text("space.py", SPACE.replace('"steps": 12', '"steps": 120'))
    found = search(space, TRIALS, folder / "ray", executor=RayExecutor("auto"), report=report)
    whole = search(space, TRIALS, folder / "whole", executor=Inline())
    wrong = []
    if found.done() != set(range(TRIALS)):
        wrong.append("not every trial is recorded")
    if len(found.table()) != len(whole.table()):
        wrong.append("a trial is there twice or not at all")
    if not found.table().equals(whole.table()):
        wrong.append(f"other numbers: {_largest(found.table(), whole.table())}")
    return [one for one in wrong if one], TRIALS


def _largest(one: Any, other: Any) -> str:
    """The largest difference of two tables of trials."""
    import numpy as np

    names = [name for name in one.columns if name.endswith(("_within", "_beyond"))]
    left, right = (table.select(names).to_numpy() for table in (one, other))
    return f"up to {np.nanmax(np.abs(left - right)):g}"


def _compare(folder: Path, report: Callable[[object], None]) -> tuple[list[str], int]:
    from lengthwise.comparing import StudyFolder, run
    from lengthwise.comparing.records import LISTS
    from lengthwise.executors import RayExecutor

    study = small_study(("alibi", "fire", "layernorm"), seeds=8, steps=120)
    records = []
    for name, executor in (("ray", RayExecutor("auto")), ("whole", Inline())):
        kept = StudyFolder.create_or_open(folder / name, study, [])
        run(kept, executor=executor, report=report if name == "ray" else lambda told: None)
        records.append(kept.records().select("cell", "fleet", *LISTS).sort("cell"))
    ours, whole = records
    wrong = []
    if set(ours["cell"]) != study.planned() or len(ours) != len(whole):
        wrong.append("not every cell is recorded once")
    if not ours.equals(whole):
        wrong.append("other numbers")
    return wrong, len(whole)


def with_cluster(do: Callable[[Any], None]) -> None:
    """Do something with a cluster of one node, the head."""
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112 - its name; memory may be full
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
    try:
        do(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()


def main() -> int:
    """Run cases until nodes have lived for a simulated day."""
    options = arguments(__doc__, HOURS)
    import_everything()
    record = Record("cluster")

    def hours() -> float:
        return sum(one["simulated_hours"] for one in record.cases.values())

    def work(cluster: Any) -> None:
        number = 0
        while hours() < options.count or len(record.cases) < KINDS:
            known = record.cases.get(number)
            if known is None or (options.again and known["wrong"]):
                with tempfile.TemporaryDirectory() as name:
                    found = run_case(number, cluster, Path(name))
                record.add(number, **found)
                print(f"case {number}: {found}, {hours():.1f} hours", flush=True)
            number += 1

    if hours() < options.count or len(record.cases) < KINDS:
        with_cluster(work)
    wrong = [one for one in record.cases.values() if one["wrong"]]
    print(f"cluster: {hours():.1f} simulated hours, {len(wrong)} cases wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
