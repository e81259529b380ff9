"""Averaging a series of safetensors checkpoints after training, one tensor at a time."""

import itertools
import json
import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from lengthwise._version import __version__
from lengthwise.averaging.bema import BEMA
from lengthwise.errors import InputError, require, require_name
from lengthwise.files import regular, replacing

_FLOATS = ("F64", "F32", "F16", "BF16")
_ITEM_BYTES = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2"), 1),
}
# What a trainer's checkpoint folder calls its weights.
_FOLDER_PATTERNS = ("model.safetensors", "model-*-of-*.safetensors", "adapter_model.safetensors")


@dataclass(frozen=True)
class _Entry:
    """One tensor in a file."""

    file: Path
    dtype: str
    shape: tuple[int, ...]

    def load(self, name: str) -> Tensor:
        with safe_open(self.file, framework="pt") as handle:
            return handle.get_tensor(name)


@dataclass(frozen=True)
class Checkpoint:
    """The weights a training had after a number of steps."""

    path: Path
    """The file or folder."""
    step: int
    """The step in its name."""
    entries: dict[str, _Entry]
    """Its tensors by name: where each lies, with shape and type."""


def read_series(paths: Sequence[Path]) -> list[Checkpoint]:
    """The checkpoints in the order of the steps in their names, checked to be of one model.

    Args:
        paths: safetensors files, or folders that hold a model's safetensors files. The step is the
            number after "step" in the name, or else the last number in it; the name of a file
            without a number is completed by its folder's.

    Raises:
        InputError: There are fewer than two, two are of the same step, or one does not fit the
            others.
    """
    require(len(paths) >= 2, "checkpoints", [str(path) for path in paths], "at least two")
    series = sorted(map(_open, paths), key=lambda checkpoint: checkpoint.step)
    first = series[0]
    for earlier, later in itertools.pairwise(series):
        if later.step == earlier.step:
            raise InputError(
                f"{earlier.path} and {later.path} are both of step {later.step}: expected a step "
                "of its own in every checkpoint's name"
            )
        _require_same_tensors(first, later)
    return series


def average_checkpoints(
    paths: Sequence[Path | str],
    out: Path | str,
    *,
    ema_power: float = 0.5,
    bias_power: float | None = 0.2,
    schedule: str = "paper",
    lag: float = 10.0,
    multiplier: float = 1.0,
    min_weight: float | None = None,
    overwrite: bool = False,
) -> list[Checkpoint]:
    """Write the average of a series of checkpoints to `out`, as if it had been kept in training.

    The first checkpoint gives the first weights, every later one is an update at its step. That is
    what `BEMA(start_after=first step, update_every=interval)` does during training. Tensors that
    are not floats are those of the last checkpoint. Memory holds one tensor at a time.

    Args:
        paths: The checkpoints, as `read_series` takes them.
        out: The safetensors file to write.
        ema_power: From 0 (the last checkpoint) to 1 (the running mean).
        bias_power: Power of the correction, or None for the EMA itself.
        schedule: "paper", "trl", "authors-offline" or "authors-online".
        lag: Larger makes the first updates count less (rho).
        multiplier: How fast the clock of the schedule runs (gamma).
        min_weight: The least that an update counts; None is what the schedule says.
        overwrite: Whether `out` may be replaced.

    Returns:
        The checkpoints in the order of their steps.

    Raises:
        InputError: A checkpoint does not fit the others, a setting is refused, or `out` exists.
    """
    out = Path(out)
    series = read_series([Path(path) for path in paths])
    require(overwrite or not out.exists(), "out", str(out), "a file that does not exist yet")
    inputs = {entry.file.resolve() for each in series for entry in each.entries.values()}
    require(out.resolve() not in inputs, "out", str(out), "a file that is not a checkpoint")

    def averaged(name: str) -> Tensor:
        live = series[0].entries[name].load(name).clone()
        average = BEMA(
            {name: live},
            ema_power,
            0.0 if bias_power is None else bias_power,
            schedule=schedule,
            lag=lag,
            multiplier=multiplier,
            start_after=series[0].step,
            min_weight=min_weight,
        )
        for checkpoint in series:
            if checkpoint.step > 0:
                live.copy_(checkpoint.entries[name].load(name))
                average.update(checkpoint.step)
        return average.weights_at(0, None if bias_power is None else 0)[name].to(live.dtype)

    last = series[-1].entries
    settings = {"ema_power": ema_power, "bias_power": bias_power, "schedule": schedule}
    settings |= {"lag": lag, "multiplier": multiplier, "min_weight": min_weight}
    metadata = {
        "format": "pt",
        "lengthwise": __version__,
        "average": json.dumps(settings),
        "steps": json.dumps([checkpoint.step for checkpoint in series]),
    }
    with replacing(out) as temporary, temporary.open("wb") as file:
        for name in _write_header(file, last, metadata):
            entry = last[name]
            tensor = averaged(name) if entry.dtype in _FLOATS else entry.load(name)
            file.write(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return series


def _write_header(
    file: IO[bytes], entries: dict[str, _Entry], metadata: dict[str, str]
) -> list[str]:
    """Write what precedes the tensors; returns their names in the order they must follow."""
    # Wide dtypes first, so that every tensor is aligned; no gaps between them.
    names = sorted(entries, key=lambda name: (-_ITEM_BYTES[entries[name].dtype], name))
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name in names:
        entry = entries[name]
        start, end = end, end + math.prod(entry.shape) * _ITEM_BYTES[entry.dtype]
        header[name] = {"dtype": entry.dtype, "shape": entry.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)))
    file.write(text)
    return names


def _open(path: Path) -> Checkpoint:
    files = [path]
    if path.is_dir():
        files = sorted(file for pattern in _FOLDER_PATTERNS for file in path.glob(pattern))
        require(bool(files), "checkpoint", str(path), "a folder with a model's safetensors files")
    return Checkpoint(path, _step(path), {n: e for file in files for n, e in _entries(file)})


def _entries(file: Path) -> Iterator[tuple[str, _Entry]]:
    try:
        with safe_open(regular(file), framework="pt") as handle:
            for name in handle.keys():  # noqa: SIM118 - not a mapping
                part = handle.get_slice(name)
                dtype = part.get_dtype()
                require_name(dtype, _ITEM_BYTES, f"{file}: dtype of {name}")
                yield name, _Entry(file, dtype, tuple(part.get_shape()))
    except (OSError, SafetensorError) as error:
        raise InputError(f"checkpoint = {str(file)!r}: not a safetensors file: {error}") from error


def _step(path: Path) -> int:
    path = path.resolve()
    for name in (path.name.removesuffix(".safetensors"), path.parent.name):
        numbers = re.findall(r"step\D?(\d+)", name) or re.findall(r"\d+", name)
        if numbers:
            return int(numbers[-1])
    raise InputError(
        f"checkpoint = {str(path)!r}: expected the step in its name, as in ckpt-100.safetensors"
    )


def _require_same_tensors(first: Checkpoint, other: Checkpoint) -> None:
    for name in sorted(first.entries.keys() | other.entries.keys()):
        for having, lacking in ((first, other), (other, first)):
            if name not in lacking.entries:
                raise InputError(
                    f"checkpoints differ: {name} is in {having.path} but not in {lacking.path}"
                )
        a, b = first.entries[name], other.entries[name]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise InputError(
                f"checkpoints differ: {name} is {a.dtype} {list(a.shape)} in {first.path} but "
                f"{b.dtype} {list(b.shape)} in {other.path}"
            )
