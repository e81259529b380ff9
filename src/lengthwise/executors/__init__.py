"""Where fleets of a search or a comparison are trained: on this machine, or on a Ray cluster."""

from lengthwise.executors._base import Done, Executor, Work
from lengthwise.executors.local import LocalExecutor
from lengthwise.executors.ray import RayExecutor

__all__ = ["Done", "Executor", "LocalExecutor", "RayExecutor", "Work"]
