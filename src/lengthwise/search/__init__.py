"""Search: thousands of small models with random hyper-parameters, on a laptop or a cluster."""

from lengthwise.executors import LocalExecutor, RayExecutor
from lengthwise.search.distributions import (
    Choice,
    Integers,
    LogUniform,
    Sometimes,
    Uniform,
    When,
)
from lengthwise.search.folder import SearchFolder
from lengthwise.search.run import search
from lengthwise.search.space import Space, load_space

__all__ = [
    "Choice",
    "Integers",
    "LocalExecutor",
    "LogUniform",
    "RayExecutor",
    "SearchFolder",
    "Sometimes",
    "Space",
    "Uniform",
    "When",
    "load_space",
    "search",
]
