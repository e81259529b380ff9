"""Which code made a run."""

import subprocess
from functools import cache
from pathlib import Path

import torch

from lengthwise._version import __version__


@cache
def code_version() -> dict[str, str]:
    """Versions of the package and of torch, and the commit if the code is a git checkout."""
    return {"lengthwise": __version__, "torch": torch.__version__, "commit": _commit()}


def _commit() -> str:
    """The commit the package was imported from, with a mark if files differ from it."""
    here = Path(__file__).parent
    try:
        # Only a checkout of this very package counts, not one that a site-packages lies inside.
        tracked = _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
        if not tracked:
            return "unknown"
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", ".")
        return _git(here, "rev-parse", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder: Path, *arguments: str) -> str:
    # Without locks: a run that is killed here must not leave the user's checkout locked.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
