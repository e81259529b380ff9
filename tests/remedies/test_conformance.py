"""Every remedy of the package keeps to the suite, and so do remedies that act together."""

from lengthwise.registry import REMEDIES
from lengthwise.testing import RemedyConformance


class TestPackage(RemedyConformance):
    remedies = REMEDIES.names()


class TestOptions(RemedyConformance):
    remedies = ("layernorm:place=before", "batchnorm:place=before", "fire:hidden=3")


class TestChains(RemedyConformance):
    remedies = (
        ("rotary", "scalable", "layernorm"),
        ("alibi", "differential"),
        ("fire", "differential", "layernorm:place=before"),
        ("sinusoidal", "nap", "layernorm"),
    )
