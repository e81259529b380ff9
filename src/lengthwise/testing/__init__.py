"""Conformance suites for pytest: what every task, remedy, model and executor must keep.

A part of your own inherits its suite and says what is to be checked, by name, by the path of its
Python file, or as an object:

    from lengthwise.testing import RemedyConformance

    class TestMine(RemedyConformance):
        remedies = ("my_remedy.py", ("rotary", "my_remedy.py:width=8"))
"""

from typing import TYPE_CHECKING, Any

import pytest

# Or a failing assertion would not show its values: pytest looks into test files only.
pytest.register_assert_rewrite(
    *(
        f"lengthwise.testing.{name}"
        for name in ("_shared", "_task_answers", "executor", "model", "remedy", "task")
    )
)

if TYPE_CHECKING:
    from lengthwise.testing.executor import ExecutorConformance
    from lengthwise.testing.model import ModelConformance
    from lengthwise.testing.remedy import RemedyConformance
    from lengthwise.testing.task import TaskConformance

__all__ = ["ExecutorConformance", "ModelConformance", "RemedyConformance", "TaskConformance"]


def __getattr__(name: str) -> Any:
    """Import a suite when it is first used: who tests a remedy needs no searches."""
    if name not in __all__:
        raise AttributeError(f"module 'lengthwise.testing' has no attribute {name!r}")
    import importlib

    home = name.removesuffix("Conformance").lower()
    return getattr(importlib.import_module(f"lengthwise.testing.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
