"""Models: frozen shapes that build plain modules, which know nothing of fleets, runs or papers."""

from lengthwise.models._base import Model, model
from lengthwise.models.attention import Attention
from lengthwise.models.gpt import GPT, GPTModel
from lengthwise.models.minimal import MinimalModel, MinimalTransformer
from lengthwise.models.set_reader import SetReader, SetReaderModel

__all__ = [
    "GPT",
    "Attention",
    "GPTModel",
    "MinimalModel",
    "MinimalTransformer",
    "Model",
    "SetReader",
    "SetReaderModel",
    "model",
]
