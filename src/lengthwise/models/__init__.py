"""Models: plain modules that know nothing of fleets, runs or papers."""

from lengthwise.models.attention import Attention
from lengthwise.models.minimal import MinimalTransformer

__all__ = ["Attention", "MinimalTransformer"]
