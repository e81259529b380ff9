"""Train short, test long: see where a transformer breaks, why, and what mends it."""

from lengthwise._version import __version__
from lengthwise.averaging import BEMA, EMA

__all__ = ["BEMA", "EMA", "__version__"]
