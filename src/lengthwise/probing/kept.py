"""A probe on disk: its settings, and each length as soon as it is done.

probe.json                   what is measured, by which code
lengths/N.safetensors        the summary of length N
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError
from lengthwise.files import read_text, write_text
from lengthwise.folders import make_new
from lengthwise.probing.observer import Queries
from lengthwise.probing.summary import Summary
from lengthwise.runs.version import code_version


@dataclass(frozen=True)
class Settings:
    """All that determines what is measured at a length."""

    model: str
    weights: str
    """A fingerprint, so that a model that was trained further is not taken for the same."""
    positions: str
    input: str
    text: str | None
    """A fingerprint of its tokens."""
    query: str
    queries: Queries
    layers: tuple[int, ...] | None
    sequences: int
    component: int
    top: int
    seed: int

    def __str__(self) -> str:
        """What is probed, in one line. An altered model always says that it is one."""
        label = f"{self.model}, {self.input} tokens, {self.query} query"
        if self.queries != "last":
            label += f", {self.queries} queries"
        return label + (", RoPE OFF (altered model)" if self.positions == "off" else "")


class KeptLengths:
    """The lengths that a folder keeps of one probe."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Open the folder, or make it; a probe with other settings in it is left alone."""
        self._folder = folder / "lengths"
        take_folder(folder, "probe", asdict(settings))

    def __contains__(self, length: int) -> bool:
        """Whether this length is done."""
        return self._path(length).is_file()

    def load(self, length: int) -> Summary:
        """What was measured at a length that is done."""
        return Summary.load(self._path(length))

    def save(self, length: int, summary: Summary) -> None:
        """Keep a length."""
        summary.save(self._path(length))

    def _path(self, length: int) -> Path:
        return self._folder / f"{length:07d}.safetensors"


def take_folder(folder: Path, kind: str, settings: dict[str, Any]) -> None:
    """Make a folder of lengths with its `KIND.json`, or find that it has the same settings.

    Raises:
        InputError: It cannot be made, holds something else, or other settings.
    """
    file = folder / f"{kind}.json"
    wanted = json.loads(json.dumps(settings))
    if file.exists():
        _require_same(file, kind, wanted)
        return
    make_new(folder, kind, "lengths")
    about = {"settings": wanted, "version": code_version()}
    write_text(file, json.dumps(about, indent=1) + "\n")


def _require_same(file: Path, kind: str, wanted: dict[str, Any]) -> None:
    try:
        about = json.loads(read_text(file))
        found = about["settings"]
        changed = [key for key in wanted if wanted[key] != found.get(key)]
        now = code_version()
        versions = [
            f"{part} {about['version'].get(part)}, not {now[part]}"
            for part in ("lengthwise", "torch")
            if about["version"].get(part) != now[part]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is damaged: expected the JSON of a {kind}") from error
    if versions:
        raise InputError(
            f"out = {str(file.parent)!r}: holds a {kind} by {versions[0]}, which is installed: its "
            "lengths would not be comparable; remove it or choose another folder"
        )
    if changed:
        raise InputError(
            f"out = {str(file.parent)!r}: holds a {kind} with another {', '.join(changed)}; "
            "remove it or choose another folder"
        )
