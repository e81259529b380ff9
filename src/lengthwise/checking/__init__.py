"""The check: at which length a pretrained model breaks, why, and what mends it."""

from lengthwise.checking.breaks import BreakLength
from lengthwise.checking.result import Check
from lengthwise.checking.run import check

__all__ = ["BreakLength", "Check", "check"]
