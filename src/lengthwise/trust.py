"""Whose code may run: what a run folder or a checkpoint brings along must be trusted first.

Run folders and checkpoints hold the texts of the Python files that they need. A file that the user
gives by its path is meant to be run, and is trusted from then on; one that comes inside somebody
else's folder runs only after `lengthwise trust` has shown it. What is trusted is a digest of the
text, kept under the user's state folder and handed on to the processes that this one starts.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from lengthwise.errors import InputError

_VARIABLE = "LENGTHWISE_TRUSTED"


def trust(text: str) -> None:
    """Let a text be run from now on, here and in processes that this one starts."""
    digest = _digest(text)
    if digest not in os.environ.get(_VARIABLE, "").split():
        os.environ[_VARIABLE] = f"{os.environ.get(_VARIABLE, '')} {digest}".strip()
    if digest in _kept():
        return
    try:
        _store().parent.mkdir(parents=True, exist_ok=True)
        with _store().open("a", encoding="ascii") as file:
            file.write(f"{digest}\n")
    except OSError:  # a home that cannot be written to: this process and its children know
        return


def require_trusted(files: Mapping[str, str]) -> None:
    """Raise `InputError` unless all `files`, texts by key, may be run."""
    for key, text in files.items():
        if _digest(text) not in _known():
            raise InputError(
                f"file = {key!r}: code that came along and was not run by you before: expected "
                "code that you trust; see it with 'lengthwise trust PATH'"
            )


def _known() -> set[str]:
    return {*_kept(), *os.environ.get(_VARIABLE, "").split()}


def _kept() -> list[str]:
    try:
        return _store().read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _store() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lengthwise" / "trusted"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
