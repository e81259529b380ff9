"""How long a length will take and how much memory it needs, and what a budget leaves out."""

import ctypes
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.optimize import nnls

from lengthwise.checking.behaviour import BATCH_TOKENS
from lengthwise.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SPARE = 0.9
"""Of the memory that is free we use so much at most."""


def parse_budget(text: str) -> float:
    """`90s`, `20m` or `2h` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if found is None or float(found[1]) == 0:
        raise InputError(f"budget = {text!r}: expected a time such as 90s, 20m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def predict_seconds(known: Mapping[int, float], length: int, pairs_per_token: float) -> float:
    """The time at a length from the times at others: a part per token and one per pair of tokens.

    Args:
        known: Seconds by length.
        length: Where to predict.
        pairs_per_token: What a pair of tokens costs over what a token costs, by counting
            operations; the times that are known may say that it costs more, never less.
    """
    lengths = np.array(list(known), dtype=float)
    seconds = np.array(list(known.values()), dtype=float)

    def columns(n: np.ndarray) -> np.ndarray:
        return np.stack([n + pairs_per_token * n**2, n**2], axis=-1)

    # Relative errors count: the longest length must not drown the others.
    weights, _ = nnls(columns(lengths) / seconds[:, None], np.ones(len(lengths)))
    return float(columns(np.array(float(length))) @ weights)


def pairs_per_token(model: "PreTrainedModel") -> float:
    """Operations per pair of tokens over operations per token, from the model's shape."""
    config = model.config
    layers = getattr(config, "num_hidden_layers", 1)
    width = getattr(config, "hidden_size", 1)
    embedding = sum(p.numel() for p in model.get_input_embeddings().parameters())
    per_token = sum(p.numel() for p in model.parameters()) - embedding
    return layers * width / max(per_token, 1)


@dataclass
class Memory:
    """How much memory passes needed, beyond what was taken before each of them."""

    device: torch.device
    sequences: int = BATCH_TOKENS
    """How many there are at most to go through the model together."""
    free: float | None = field(init=False)
    """In bytes; None where the system does not say."""
    _taken: float = field(init=False)
    _needed: dict[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """See what is free."""
        if self.device.type == "cuda":
            self.free = float(torch.cuda.mem_get_info(self.device)[0])
        else:
            _give_back()
            self.free = _kilobytes(Path("/proc/meminfo"), "MemAvailable")
        self.begin()

    def begin(self) -> None:
        """See what is taken now, and forget the peak so far."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            self._taken = float(torch.cuda.memory_allocated(self.device))
        else:
            _give_back()
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")
            self._taken = _kilobytes(Path("/proc/self/status"), "VmRSS") or 0.0

    def note(self, length: int) -> None:
        """Note the peak since `begin`, while inputs of this length went through the model."""
        if self.device.type == "cuda":
            peak: float | None = float(torch.cuda.max_memory_allocated(self.device))
        else:
            peak = _kilobytes(Path("/proc/self/status"), "VmHWM")
        if peak is not None:
            self._needed[length] = max(peak - self._taken, 1.0)

    def predict(self, length: int) -> float | None:
        """Bytes that passes of this length will need; None if nothing is known of it.

        Short inputs go through the model many at a time, so their passes hold as many tokens as
        longer ones. What grows between them is then a part per pair of tokens.
        """
        if self.free is None or not self._needed:
            return None
        rows = [(self._tokens(n), self._tokens(n) * n) for n in self._needed]
        needed = np.array(list(self._needed.values()))
        weights, _ = nnls(np.array(rows, dtype=float) / needed[:, None], np.ones(len(needed)))
        tokens = self._tokens(length)
        return float(weights @ np.array([tokens, tokens * length], dtype=float))

    def _tokens(self, length: int) -> int:
        """How many tokens go through the model at once."""
        return length * min(self.sequences, max(1, BATCH_TOKENS // length))

    def fits(self, length: int) -> bool:
        """Whether a pass of this length fits into what was free."""
        needed = self.predict(length)
        return needed is None or self.free is None or needed <= SPARE * self.free


def _give_back() -> None:
    """Give freed memory back to the system, or what an earlier pass used would seem to be taken."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def in_words(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _kilobytes(file: Path, field_name: str) -> float | None:
    """A field of one of Linux's files, in bytes; None elsewhere."""
    with suppress(OSError):
        found = re.search(rf"{field_name}:\s+(\d+) kB", file.read_text())
        if found is not None:
            return 1024.0 * int(found[1])
    return None
