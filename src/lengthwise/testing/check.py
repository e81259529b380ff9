"""The suites outside of a test run: which properties hold, and which case breaks one."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest

from lengthwise.tasks import Task
from lengthwise.testing.remedy import RemedyConformance


class Checked(NamedTuple):
    """What came out for one property."""

    property: str
    holds: bool | None
    """None where the property does not concern the part."""
    told: str = ""
    """The case that breaks it, or why it does not concern the part."""


def check_remedy(*chain: str) -> Iterator[Checked]:
    """Try every property of the suite on a remedy, or on several that act together.

    Args:
        chain: Names or paths of Python files, with options behind a colon.

    Raises:
        InputError: There is no such remedy, or no model can be built with it.
    """
    suite = RemedyConformance()
    suite.gpt(chain)
    yield from _properties(suite, {"chain": chain})


def check_task(task: Task) -> Iterator[Checked]:
    """Try every property of the suite on a task."""
    from lengthwise.testing.task import TaskConformance

    yield from _properties(TaskConformance(), {"task": task})


def _properties(suite: Any, part: dict[str, Any]) -> Iterator[Checked]:
    """All tests of a suite and of those that it is made of."""
    for kind in (type(suite), *type(suite).__bases__):
        for name, test in vars(kind).items():
            if name.startswith("test_"):
                yield _checked(name, getattr(suite, name), list(_cases(test)), part)


def _checked(
    name: str, test: Callable[..., None], cases: Sequence[dict[str, Any]], part: dict[str, Any]
) -> Checked:
    """The first case that breaks; if there is none and some are left out, why they are."""
    words = name.removeprefix("test_").replace("_", " ")
    left_out = []
    for case in cases:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                test(**part, **case)
        except pytest.skip.Exception as skipped:
            left_out.append(str(skipped))
        # What pytest raises where an error was expected and none came is no `Exception`.
        except (Exception, pytest.fail.Exception) as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            given = "".join(f"{option} = {value}, " for option, value in case.items())
            return Checked(words, False, given + kind + " ".join(str(error).split()))
    return (
        Checked(words, None, left_out[0]) if len(left_out) == len(cases) else Checked(words, True)
    )


def _cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The values of `pytest.mark.parametrize` above a test, in all combinations."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    for values in product(*(mark.args[1] for mark in marks)):
        yield {mark.args[0]: value for mark, value in zip(marks, values, strict=True)}
