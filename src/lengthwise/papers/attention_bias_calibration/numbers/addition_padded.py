"""Claim: calibrated biases carry addition beyond the training length, padded."""

from lengthwise.claims import Claim
from lengthwise.papers.attention_bias_calibration import ARXIV
from lengthwise.papers.attention_bias_calibration.numbers.evidence import evidence
from lengthwise.papers.attention_bias_calibration.numbers.section import ADDITION

ADDITION_PADDED = Claim(
    name="attention-bias-calibration/addition-padded",
    sentence=(
        "Calibrated biases carry addition beyond the training length, "
        "where all numbers are padded to one size."
    ),
    source=f"{ARXIV}, numbers padded, in miniature",
    experiment=ADDITION,
    evidence=evidence("padded"),
    place=30,
)
