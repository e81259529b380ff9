"""Averages of weights for any training loop: EMA and bias-corrected EMA.

The adapters for other people's trainers are imported from their own modules,
`lengthwise.averaging.hugging_face` and `lengthwise.averaging.lightning`.
"""

from lengthwise.averaging._base import Average
from lengthwise.averaging.applied import AveragingError, require_live
from lengthwise.averaging.bema import BEMA
from lengthwise.averaging.ema import EMA

__all__ = ["BEMA", "EMA", "Average", "AveragingError", "require_live"]
