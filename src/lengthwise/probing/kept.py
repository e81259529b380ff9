"""A probe on disk: its settings, and each length as soon as it is done.

probe.json                   what is measured, by which code
lengths/N.safetensors        the summary of length N
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lengthwise.errors import InputError, require
from lengthwise.files import write_text
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
        file = folder / "probe.json"
        wanted = json.loads(json.dumps(asdict(settings)))
        if file.exists():
            _require_same(file, wanted)
            return
        try:
            empty = not folder.exists() or not any(folder.iterdir())
            require(empty, "out", str(folder), "a folder that is new, empty, or holds this probe")
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"out = {str(folder)!r}: cannot be made: {error.strerror}") from error
        about = {"settings": wanted, "version": code_version()}
        write_text(file, json.dumps(about, indent=1) + "\n")

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


def _require_same(file: Path, wanted: dict[str, object]) -> None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["settings"]
        changed = [key for key in wanted if wanted[key] != found.get(key)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is damaged: expected the JSON of a probe") from error
    if changed:
        raise InputError(
            f"out = {str(file.parent)!r}: holds a probe with another {', '.join(changed)}; "
            "remove it or choose another folder"
        )
