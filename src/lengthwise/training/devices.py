"""Devices by name: whether there is such a kind at all, and whether it is here."""

import ctypes
import sys

import torch

from lengthwise.errors import InputError


def require_device_name(device: str) -> None:
    """Raise `InputError` unless torch knows such a device, here or elsewhere."""
    try:
        torch.device(device)
    except RuntimeError as error:
        raise _refusal(device, "a name that torch knows", error) from None


def require_device(device: str) -> None:
    """Raise `InputError` unless tensors can be made on `device`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _refusal(device, "one that torch has here", error) from None


def keep_freed_memory() -> None:
    """Let glibc keep up to 1 GiB of what a training step frees, for the next step.

    Otherwise the end of every step gives memory back to the system, and the next one pays for the
    same pages again: up to a tenth of a small GPT's step. It is for processes that do nothing but
    train, such as commands and workers. Other C libraries are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3  # their numbers in malloc.h
        mallopt(trim_threshold, 1 << 30)
        mallopt(mmap_threshold, 1 << 25)  # the largest there is


def _refusal(device: str, expected: str, error: Exception) -> InputError:
    reason = str(error).splitlines()[0]
    return InputError(f"device = {device!r}: expected {expected} ({reason})")
