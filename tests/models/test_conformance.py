"""Every model of the package keeps to the suite, in other shapes than the default too."""

from lengthwise.models import GPTModel, InvertedModel, MinimalModel, SetReaderModel, SiameseModel
from lengthwise.registry import MODELS
from lengthwise.testing import ModelConformance

SMALL = {"layers": 2, "heads": 2, "width": 8}


class TestPackage(ModelConformance):
    models = tuple(MODELS.listed())


class TestVariants(ModelConformance):
    models = (
        GPTModel(**SMALL, layout="post", norm="rmsnorm", remedies=("rotary",)),
        GPTModel(**SMALL, layout="sandwich", mlp="gated", remedies=("fire", "nap")),
        GPTModel(**SMALL, causal=False, remedies=("alibi", "batchnorm")),
        MinimalModel(extra_width=2, pre_norm=False, key_width=4, remedies=("rotary", "adaptive")),
        MinimalModel(extra_width=2, value_width=3, remedies=("scalable", "layernorm")),
        InvertedModel(**SMALL, alone=True, remedies=("scalable",)),
        InvertedModel(**SMALL, remedies=("differential", "layernorm")),
        SiameseModel(**SMALL, remedies=("rotary", "batchnorm")),
        SetReaderModel(width=8, heads=2, residual=True, remedies=("differential", "rmsnorm")),
    )
