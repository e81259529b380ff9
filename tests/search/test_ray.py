"""The same search on a Ray cluster; a node that dies takes nothing with it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from search.small import OWN, Inline
from two_nodes import two_nodes

from lengthwise.errors import InputError
from lengthwise.executors import Executor
from lengthwise.progress import Progress
from lengthwise.search import RayExecutor, search
from lengthwise.search.space import space_from_text
from lengthwise.testing import ExecutorConformance

pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as made:
        yield made


@pytest.mark.usefixtures("cluster")
class TestRayExecutor(ExecutorConformance):
    def executor(self) -> Executor:
        return RayExecutor("auto")


def test_a_lost_node_loses_no_trial(cluster: Any, tmp_path: Path) -> None:
    """The space has a model and a remedy of its own, in a file that no node has."""
    space = space_from_text("own_space.py", OWN.format(steps=300))
    told: list[Progress] = []
    lost = []

    def report(progress: Progress) -> None:
        told.append(progress)
        if not lost and progress.done > 0:
            node = next(node for node in cluster.worker_nodes)
            cluster.remove_node(node, allow_graceful=False)
            lost.append(node)

    executor = RayExecutor("auto")
    folder = search(space, 20, tmp_path / "ray", executor=executor, report=report)
    whole = search(space, 20, tmp_path / "whole", executor=Inline())
    assert lost
    assert any(0 < progress.done < 20 for progress in told), "it was lost half way"
    assert folder.done() == set(range(20))
    assert len(folder.table()) == 20 * 3
    names = [name for name in whole.table().columns if name.endswith(("_within", "_beyond"))]
    np.testing.assert_allclose(
        folder.table().select(names).to_numpy(), whole.table().select(names).to_numpy(), atol=1e-4
    )


def test_something_else_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lengthwise.executors.ray.CONNECT_SECONDS", 3.0)
    for greeting in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""):
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=_answer, args=(server, greeting), daemon=True).start()
            with pytest.raises(InputError, match="what answers there is none"):
                RayExecutor(f"127.0.0.1:{server.getsockname()[1]}")


def _answer(server: socket.socket, greeting: bytes) -> None:
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(greeting)


def test_a_cluster_answers(cluster: Any) -> None:
    assert RayExecutor(cluster.address).address == cluster.address


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:9", "ray = '127.0.0.1:9': nothing answers there"),
        ("somewhere", "ray = 'somewhere': expected host:port, auto or local"),
        ("no.such.host.invalid:6379", "nothing answers there"),
    ],
)
def test_an_address_that_does_not_answer(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RayExecutor(address)
