"""Models: plain modules that know nothing of fleets, runs or papers."""

from lengthwise.models.attention import Attention
from lengthwise.models.gpt import GPT
from lengthwise.models.minimal import MinimalTransformer
from lengthwise.models.set_reader import SetReader

__all__ = ["GPT", "Attention", "MinimalTransformer", "SetReader"]
