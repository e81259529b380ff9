"""Where claims are: in every module of a package, or in a file of one's own."""

import importlib
import pkgutil
import types
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from lengthwise.claims._base import Claim, Experiment, Scale
from lengthwise.errors import InputError, require
from lengthwise.registry import UserFile, load_file, running

Planned = TypeVar("Planned")


def claims_of_package(package: types.ModuleType) -> dict[str, Claim]:
    """Every claim at the top level of a module in `package`, by name and in order.

    Args:
        package: An imported package, which is walked through.
    """
    walked = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return _collected(importlib.import_module(module.name) for module in walked)


@cache  # an experiment of a file is one experiment, however often the file is asked for
def _of_file(file: UserFile) -> dict[str, Claim]:
    found = _collected([file.module])
    planned = {one.experiment: _in_file(one.experiment, file) for one in found.values()}
    return {k: replace(one, experiment=planned[one.experiment]) for k, one in found.items()}


def claims_of_file(path: Path) -> dict[str, Claim]:
    """Every claim at the top level of the Python file at `path`, which is run.

    Tasks, models and remedies of the same file can be meant by their names where experiments plan
    their runs, and go with these. Runs that use them are of this very text: after any change to the
    file they are refused. What shall outlast changes to a claim stands in a file of its own, which
    the plan names by its path.

    Args:
        path: A Python file that you trust.

    Raises:
        InputError: If it is no Python file, does not run, or holds no claim.
    """
    found = _of_file(load_file(path))
    require(bool(found), "claim", str(path), "a file that defines a Claim(...)")
    return dict(found)


def _in_file(experiment: Experiment, file: UserFile) -> Experiment:
    """The experiment as it is planned inside its file, where names mean what it defines."""

    def inside(plan: Callable[[Scale], Planned]) -> Callable[[Scale], Planned]:
        def planned(scale: Scale) -> Planned:
            with running(file):
                return plan(scale)

        return planned

    search = experiment.search and inside(experiment.search)
    return replace(experiment, plan=inside(experiment.plan), search=search)


def _collected(modules: Iterable[types.ModuleType]) -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for module in modules:
        for claim in vars(module).values():
            if isinstance(claim, Claim) and found.setdefault(claim.name, claim) is not claim:
                raise InputError(f"claim = {claim.name!r}: expected a name that no other claim has")
    ordered = sorted(found.values(), key=lambda claim: (claim.paper, claim.place, claim.name))
    return {claim.name: claim for claim in ordered}
