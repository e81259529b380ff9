"""A check on disk: its settings, and each length as soon as it is done.

check.json                              what is measured, by which code
lengths/plain/N.safetensors             what the model does at length N
lengths/plain/N.mechanism.safetensors   what its attention does there
lengths/NAME/N.safetensors              what it does with the what-if NAME
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from lengthwise.checking.behaviour import Behaviour
from lengthwise.probing.kept import take_folder
from lengthwise.probing.summary import Summary

PLAIN = "plain"
"""The model as it is."""


@dataclass(frozen=True)
class Settings:
    """All that determines what is measured at a length."""

    model: str
    weights: str
    """A fingerprint, so that a model that was trained further is not taken for the same."""
    dtype: str
    text: str
    """A fingerprint of its tokens."""
    documents: int
    sequences: int
    targets: int
    seed: int


class KeptLengths:
    """The lengths that a folder keeps of one check; without a folder, nothing is kept."""

    def __init__(self, folder: Path | None, settings: Settings) -> None:
        """Open the folder, or make it; a check with other settings in it is left alone."""
        self._folder = folder
        if folder is not None:
            take_folder(folder, "check", asdict(settings))

    def load(self, what_if: str, length: int) -> Behaviour | None:
        """What was measured at a length; None if it is not done."""
        path = self._path(what_if, length, "")
        return Behaviour.load(path) if path is not None and path.is_file() else None

    def load_mechanism(self, length: int) -> Summary | None:
        """What attention did at a length; None if it was not watched."""
        path = self._path(PLAIN, length, ".mechanism")
        return Summary.load(path) if path is not None and path.is_file() else None

    def save(
        self, what_if: str, length: int, behaviour: Behaviour, mechanism: Summary | None = None
    ) -> None:
        """Keep a length. Behaviour comes last: once it is there, all is."""
        path = self._path(what_if, length, "")
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if mechanism is not None:
            mechanism.save(path.with_suffix(".mechanism.safetensors"))
        behaviour.save(path)

    def _path(self, what_if: str, length: int, kind: str) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / "lengths" / what_if / f"{length:07d}{kind}.safetensors"
