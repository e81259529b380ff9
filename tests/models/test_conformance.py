"""Every model of the package keeps to the suite, in other shapes than the default too."""

from lengthwise.models import (
    EncoderDecoderModel,
    GPTModel,
    InvertedModel,
    MinimalModel,
    SetReaderModel,
    SiameseModel,
)
from lengthwise.models.predictive import PredictiveModel
from lengthwise.registry import MODELS
from lengthwise.testing import ModelConformance

SMALL = {"layers": 2, "heads": 2, "width": 8}


class TestPackage(ModelConformance):
    # Its ids begin at random in every pass; as a variant, without that.
    models = tuple(name for name in MODELS.listed() if name != "predictive-gpt")


class TestVariants(ModelConformance):
    models = (
        GPTModel(**SMALL, layout="post", norm="rmsnorm", remedies=("rotary",)),
        GPTModel(**SMALL, layout="sandwich", mlp="gated", remedies=("fire", "nap")),
        GPTModel(**SMALL, causal=False, remedies=("alibi", "batchnorm")),
        EncoderDecoderModel(**SMALL, encoder_layers=1, layout="post", remedies=("rotary", "t5")),
        EncoderDecoderModel(
            **SMALL,
            encoder_layers=0,
            counted="backward",
            layout="sandwich",
            norm="rmsnorm",
            mlp="gated",
            remedies=("learned", "diagonal", "layernorm"),
        ),
        PredictiveModel(**SMALL, random_start=False),
        MinimalModel(extra_width=2, pre_norm=False, key_width=4, remedies=("rotary", "adaptive")),
        MinimalModel(extra_width=2, value_width=3, remedies=("scalable", "layernorm")),
        InvertedModel(**SMALL, alone=True, remedies=("scalable",)),
        InvertedModel(**SMALL, remedies=("differential", "layernorm")),
        SiameseModel(**SMALL, remedies=("rotary", "batchnorm")),
        SetReaderModel(width=8, heads=2, residual=True, remedies=("differential", "rmsnorm")),
    )
