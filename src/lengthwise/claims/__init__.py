"""Claims: what a paper says, tested."""

from lengthwise.claims._base import (
    Claim,
    Experiment,
    Finding,
    Picture,
    PlannedRun,
    PlannedSearch,
    Results,
    Scale,
    Section,
    Table,
    Verdict,
)
from lengthwise.claims.reproduce import Reproduction, reproduce
from lengthwise.claims.statistics import Estimate, bootstrap, estimate, every, p_value

__all__ = [
    "Claim",
    "Estimate",
    "Experiment",
    "Finding",
    "Picture",
    "PlannedRun",
    "PlannedSearch",
    "Reproduction",
    "Results",
    "Scale",
    "Section",
    "Table",
    "Verdict",
    "bootstrap",
    "estimate",
    "every",
    "p_value",
    "reproduce",
]
