"""Train short, test long: see where a transformer breaks, why, and what mends it."""

from lengthwise._version import __version__

__all__ = ["__version__"]
