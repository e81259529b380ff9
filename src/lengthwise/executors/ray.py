"""A Ray cluster: one that runs already, by its address, or one on this machine."""

import socket
import subprocess
import sys
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from lengthwise.errors import InputError, require
from lengthwise.executors._base import Done, Work

ANSWER_SECONDS = 5.0
"""How long an address may take to accept a connection."""

CONNECT_SECONDS = 30.0
"""How long Ray may take to find a cluster there: by itself it would try for minutes."""

WAIT_SECONDS = 0.5


class RayExecutor:
    """Trains on a Ray cluster, one fleet per core, one thread each.

    Results come back through Ray, and the process that started the work writes them: nodes need
    neither a disk in common nor the files that the user named.
    """

    name = "ray"

    def __init__(self, address: str = "local", workers: int | None = None) -> None:
        """Say which cluster.

        Args:
            address: `host:port` of a cluster, `auto` for the one this machine belongs to, or
                `local` for a new one on this machine.
            workers: Cores of a new local cluster (default: all).
        """
        require(workers is None or workers >= 1, "workers", workers, "at least 1")
        _import_ray()
        if address not in ("local", "auto"):
            _require_cluster(address)
        self.address = address
        self.workers = workers

    def run(self, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Do all jobs; see `Executor`. Ray does again what a lost node was doing.

        Args:
            work: What is done for each job.
            jobs: What to do it for.
        """
        ray = _import_ray()
        ours = not ray.is_initialized()
        if ours:
            self._connect(ray)
        try:
            yield from _run(ray, work, jobs)
        finally:
            if ours:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        if self.address == "local":
            settings |= {"num_cpus": self.workers, "include_dashboard": False}
        try:
            ray.init(address=self.address, **settings)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = str(error).strip().splitlines()[0]
            raise InputError(
                f"ray = {self.address!r}: expected the address of a Ray cluster ({reason})"
            ) from error


def _run(ray: Any, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
    # No limit on retries: a task that fails because its node is gone has done nothing wrong.
    remote = ray.remote(num_cpus=1, max_retries=-1)(_do)
    shared = ray.put(work)
    waiting = deque(jobs)
    running: dict[Any, Hashable] = {}
    try:
        while waiting or running:
            # Two per core keep every core busy without burying the cluster under tasks.
            cores = int(ray.cluster_resources().get("CPU", 1))
            while waiting and len(running) < 2 * cores:
                job = waiting.popleft()
                running[remote.remote(shared, job)] = job
            ready, _ = ray.wait(list(running), num_returns=1, timeout=WAIT_SECONDS)
            for reference in ready:
                job = running.pop(reference)
                try:
                    content = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    reason = str(error.cause).splitlines()[0]
                    raise InputError(f"{job}: {type(error.cause).__name__}: {reason}") from error
                yield Done(job, content)
            if not ready:
                yield None
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _do(work: Work, job: Hashable) -> bytes:
    import torch

    torch.set_num_threads(1)
    return work.do(job)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "executor = 'ray': needs Ray; install it with: pip install 'lengthwise[ray]'"
        ) from error
    return ray


def _require_cluster(address: str) -> None:
    """Raise unless Ray listens there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    expected = "host:port, auto or local"
    require(bool(colon) and port.isdigit() and bool(host), "ray", address, expected)
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"ray = {address!r}: nothing answers there ({error}): expected the address of a "
            "running Ray cluster"
        ) from error
    # In a process of its own, because an attempt to connect can be ended in no other way.
    connect = [sys.executable, "-c", "import ray, sys; ray.init(sys.argv[1])", address]
    try:
        subprocess.run(connect, capture_output=True, timeout=CONNECT_SECONDS, check=True, text=True)
    except subprocess.TimeoutExpired:
        expected = "the address of a Ray cluster: what answers there is none"
        raise InputError(f"ray = {address!r}: expected {expected}") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        raise InputError(f"ray = {address!r}: Ray cannot use it ({reason})") from error
