"""Claim: calibrated biases carry the successor of a number beyond the training length, padded."""

from lengthwise.claims import Claim
from lengthwise.papers.attention_bias_calibration import ARXIV
from lengthwise.papers.attention_bias_calibration.numbers.evidence import evidence
from lengthwise.papers.attention_bias_calibration.numbers.section import SUCCESSOR

SUCCESSOR_PADDED = Claim(
    name="attention-bias-calibration/successor-padded",
    sentence=(
        "Calibrated biases carry the successor of a number beyond the training length, "
        "where all numbers are padded to one size."
    ),
    source=f"{ARXIV}, numbers padded, in miniature",
    experiment=SUCCESSOR,
    evidence=evidence("padded"),
    place=10,
)
