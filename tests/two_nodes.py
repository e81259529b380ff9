"""A real Ray cluster of two nodes on this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")


@contextmanager
def two_nodes() -> Iterator[Any]:
    """One core each; this process is connected to it."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    ray.init(address=made.address, logging_level=logging.ERROR, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
