"""Claim: calibrated biases carry the successor of a number beyond the training length, unpadded."""

from lengthwise.claims import Claim
from lengthwise.papers.attention_bias_calibration import ARXIV
from lengthwise.papers.attention_bias_calibration.numbers.evidence import evidence
from lengthwise.papers.attention_bias_calibration.numbers.section import SUCCESSOR

SUCCESSOR_UNPADDED = Claim(
    name="attention-bias-calibration/successor-unpadded",
    sentence=(
        "Calibrated biases carry the successor of a number beyond the training length, "
        "where longer numbers are longer inputs."
    ),
    source=f"{ARXIV}, unpadded (ours), in miniature",
    experiment=SUCCESSOR,
    evidence=evidence("unpadded"),
    place=20,
)
