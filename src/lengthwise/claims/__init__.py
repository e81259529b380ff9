"""Claims: what a paper says, tested."""

from lengthwise.claims._base import (
    Claim,
    Experiment,
    Finding,
    Picture,
    PlannedRun,
    Results,
    Scale,
    Section,
    Verdict,
)
from lengthwise.claims.reproduce import Reproduction, reproduce
from lengthwise.claims.statistics import Estimate, estimate, every

__all__ = [
    "Claim",
    "Estimate",
    "Experiment",
    "Finding",
    "Picture",
    "PlannedRun",
    "Reproduction",
    "Results",
    "Scale",
    "Section",
    "Verdict",
    "estimate",
    "every",
    "reproduce",
]
