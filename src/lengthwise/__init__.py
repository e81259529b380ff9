"""Train short, test long: see where a transformer breaks, why, and what mends it."""

from typing import TYPE_CHECKING, Any

from lengthwise._version import __version__

if TYPE_CHECKING:
    from lengthwise.averaging import BEMA, EMA
    from lengthwise.probing import probe

__all__ = ["BEMA", "EMA", "__version__", "probe"]

_HOMES = {
    "BEMA": "lengthwise.averaging",
    "EMA": "lengthwise.averaging",
    "probe": "lengthwise.probing",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `lengthwise --help` needs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lengthwise' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
