"""What goes wrong because of input, said in one line.

The command line turns every `InputError` into that line and exit code 2. Library users can catch it
as the `ValueError` it is.
"""

import difflib
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """Bad input: the message names the field, its value and what would be right."""


class LengthwiseWarning(UserWarning):
    """Something that works, but probably not as the caller thinks."""


def require(condition: bool, field: str, value: Any, expected: str) -> None:
    """Raise `InputError` unless `condition` holds.

    Args:
        condition: What must be true of the value.
        field: The name the user knows the value by.
        value: The value that was given.
        expected: What would be right, to be read after "expected".

    Raises:
        InputError: The condition does not hold.
    """
    if not condition:
        raise InputError(f"{field} = {value!r}: expected {expected}")


def require_name(name: str, known: Iterable[str], field: str) -> None:
    """Raise `InputError` unless `name` is one of `known`, suggesting the nearest one.

    Args:
        name: What was given.
        known: What there is.
        field: The name the user knows the value by.

    Raises:
        InputError: It is none of them.
    """
    known = sorted(known)
    if name in known:
        return
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"{field} = {name!r}: {hint}known: {', '.join(known)}")
