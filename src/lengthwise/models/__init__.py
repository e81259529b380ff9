"""Models: frozen shapes that build plain modules, which know nothing of fleets, runs or papers."""

from lengthwise.models._base import Model, model
from lengthwise.models.attention import Attention
from lengthwise.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel
from lengthwise.models.gpt import GPT, GPTModel
from lengthwise.models.inverted import InvertedModel, InvertedTransformer
from lengthwise.models.minimal import MinimalModel, MinimalTransformer
from lengthwise.models.set_reader import SetReader, SetReaderModel
from lengthwise.models.siamese import Siamese, SiameseModel

__all__ = [
    "GPT",
    "Attention",
    "EncoderDecoder",
    "EncoderDecoderModel",
    "GPTModel",
    "InvertedModel",
    "InvertedTransformer",
    "MinimalModel",
    "MinimalTransformer",
    "Model",
    "SetReader",
    "SetReaderModel",
    "Siamese",
    "SiameseModel",
    "model",
]
