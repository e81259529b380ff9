"""Devices by name: whether there is such a kind at all, and whether it is here."""

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


def _refusal(device: str, expected: str, error: Exception) -> InputError:
    reason = str(error).splitlines()[0]
    return InputError(f"device = {device!r}: expected {expected} ({reason})")
