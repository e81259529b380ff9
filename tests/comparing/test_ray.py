"""The same comparison on a Ray cluster, one node of which is killed."""

from pathlib import Path

import numpy as np
import pytest
from comparing.small import own_remedy, small_study, trained
from two_nodes import two_nodes

from lengthwise.comparing import StudyFolder, run
from lengthwise.executors import RayExecutor
from lengthwise.progress import Progress

pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")


def test_a_lost_node_loses_no_cell(tmp_path: Path) -> None:
    """A remedy is in a file that no node has."""
    study = small_study(("alibi", str(own_remedy(tmp_path))), seeds=4)
    (tmp_path / "own_remedy.py").unlink()
    folder = StudyFolder.create_or_open(tmp_path / "ray", study, [])
    lost = []
    with two_nodes() as cluster:

        def report(progress: Progress) -> None:
            if not lost and 0 < progress.done < progress.total:
                cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
                lost.append(progress.done)

        run(folder, executor=RayExecutor("auto"), report=report)
    assert lost, "it was lost half way"
    whole = trained(tmp_path / "whole", study)
    ours, others = (one.records().sort("cell") for one in (folder, whole))
    assert set(ours["cell"]) == folder.study.planned()
    assert len(ours) == len(others)
    for name in ("cell", "weights", "step", "length", "measure"):
        assert ours[name].equals(others[name])
    values = [np.concatenate(one["value"].to_list()) for one in (ours, others)]
    np.testing.assert_allclose(*values, atol=1e-4)  # type: ignore[call-overload]
