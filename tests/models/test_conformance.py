"""Every model of the package keeps to the suite, in other shapes than the default too."""

from lengthwise.models import GPTModel, MinimalModel, SetReaderModel
from lengthwise.models.predictive import PredictiveModel
from lengthwise.registry import MODELS
from lengthwise.testing import ModelConformance

SMALL = {"layers": 2, "heads": 2, "width": 8}


class TestPackage(ModelConformance):
    # Its ids begin at random in every pass; as a variant, without that.
    models = tuple(name for name in MODELS.names() if name != "predictive-gpt")


class TestVariants(ModelConformance):
    models = (
        GPTModel(**SMALL, layout="post", norm="rmsnorm", remedies=("rotary",)),
        GPTModel(**SMALL, layout="sandwich", mlp="gated", remedies=("fire", "nap")),
        GPTModel(**SMALL, causal=False, remedies=("alibi", "batchnorm")),
        PredictiveModel(**SMALL, random_start=False),
        MinimalModel(extra_width=2, pre_norm=False, key_width=4, remedies=("rotary", "adaptive")),
        MinimalModel(extra_width=2, value_width=3, remedies=("scalable", "layernorm")),
        SetReaderModel(width=8, heads=2, residual=True, remedies=("differential", "rmsnorm")),
    )
