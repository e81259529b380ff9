"""Every remedy of the package keeps to the suite, and so do remedies that act together."""

from pathlib import Path

from lengthwise.registry import REMEDIES
from lengthwise.testing import RemedyConformance


class TestPackage(RemedyConformance):
    # Randomized positions need others that read them, and calibration needs another run.
    remedies = tuple(n for n in REMEDIES.listed() if n not in ("randomized", "calibrated"))


class TestOptions(RemedyConformance):
    remedies = (
        "layernorm:place=before",
        "batchnorm:place=before",
        "fire:hidden=3",
        "interpolated:factor=4",
        "yarn:factor=4",
        "dynamic-ntk:factor=4",
        "nape:slopes=exponential",
        "blockwise:length=4",
        "fox:start=5",
        "cope:count=4",
        "asentmax:start=zero",
        "asentmax:heads=last",
        "t2r:features=5",
        "t2r-norm:features=5",
        "reguformer:select=topQ_topK,factor=1",
        "reguformer:select=randQ_randK,factor=1",
    )


class TestChains(RemedyConformance):
    remedies = (
        ("rotary", "scalable", "layernorm"),
        ("alibi", "differential"),
        ("fire", "differential", "layernorm:place=before"),
        ("sinusoidal", "nap", "layernorm"),
        ("alibi", "off-by-one"),
        ("rotary", "ssmax", "layernorm"),
        ("alibi", "entmax"),
        ("qk-norm", "ssmax", "sparsemax"),
        ("qk-rmsnorm", "rotary", "sink"),
        ("alibi", "asentmax:heads=last", "rmsnorm"),
        ("rotary", "differential-v2", "scalable"),
        ("qk-norm", "alibi", "differential-v2"),
        ("rotary", "sigmoid", "layernorm"),
        ("selective", "stick-breaking-rest"),
        ("selective", "off-by-one", "mte"),
        ("t2r-norm", "rotary"),
        ("rotary", "t2r", "layernorm"),
    )


OWN = str(Path(__file__).with_name("query_key_norm.py"))


class TestFile(RemedyConformance):
    remedies = (OWN, f"{OWN}:scale=2.5", (OWN, "rotary", "layernorm"))
