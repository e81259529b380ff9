"""Where claims are: in every module of a package, or in a file of one's own."""

import hashlib
import importlib
import pkgutil
import sys
import types
from collections.abc import Iterable
from pathlib import Path

from lengthwise.claims._base import Claim
from lengthwise.errors import InputError, require


def claims_of_package(package: types.ModuleType) -> dict[str, Claim]:
    """Every claim at the top level of a module in `package`, by name and in order."""
    walked = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return _collected(importlib.import_module(module.name) for module in walked)


def claims_of_file(path: Path) -> dict[str, Claim]:
    """Every claim at the top level of the Python file at `path`, which is run.

    Raises:
        InputError: If it is no Python file, does not run, or holds no claim.
    """
    name = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"claim = {name!r}: expected a Python file ({error})") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    module = types.ModuleType(f"lengthwise_claim_{digest}")
    # Classes look for the module they were defined in, dataclasses already while they are made.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"claim = {name!r}: {type(error).__name__}: {error}") from error
    found = _collected([module])
    require(bool(found), "claim", name, "a file that defines a Claim(...)")
    return found


def _collected(modules: Iterable[types.ModuleType]) -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for module in modules:
        for claim in vars(module).values():
            if isinstance(claim, Claim) and found.setdefault(claim.name, claim) is not claim:
                raise InputError(f"{module.__name__}: a second claim called {claim.name!r}")
    ordered = sorted(found.values(), key=lambda claim: (claim.paper, claim.place, claim.name))
    return {claim.name: claim for claim in ordered}
