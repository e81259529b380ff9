"""Claim: calibrated biases carry addition beyond the training length, unpadded."""

from lengthwise.claims import Claim
from lengthwise.papers.attention_bias_calibration import ARXIV
from lengthwise.papers.attention_bias_calibration.numbers.evidence import evidence
from lengthwise.papers.attention_bias_calibration.numbers.section import ADDITION

ADDITION_UNPADDED = Claim(
    name="attention-bias-calibration/addition-unpadded",
    sentence=(
        "Calibrated biases carry addition beyond the training length, "
        "where longer numbers are longer inputs."
    ),
    source=f"{ARXIV}, unpadded (ours), in miniature",
    experiment=ADDITION,
    evidence=evidence("unpadded"),
    place=40,
)
