"""Where the fleets of a search are trained: on this machine, or on a Ray cluster."""

from lengthwise.search.executors._base import Done, Executor
from lengthwise.search.executors.local import LocalExecutor
from lengthwise.search.executors.ray import RayExecutor

__all__ = ["Done", "Executor", "LocalExecutor", "RayExecutor"]
