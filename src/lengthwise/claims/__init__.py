"""Claims: what a paper says, tested."""

from lengthwise.claims._base import (
    Claim,
    Drawing,
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
    drawing,
    once,
)
from lengthwise.claims.find import claims_of_file, claims_of_package
from lengthwise.claims.fleets import whole
from lengthwise.claims.reproduce import Reproduction, reopen, reproduce
from lengthwise.claims.statistics import (
    Estimate,
    TopPortion,
    bootstrap,
    estimate,
    every,
    levels,
    p_value,
)

__all__ = [
    "Claim",
    "Drawing",
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
    "TopPortion",
    "Verdict",
    "bootstrap",
    "claims_of_file",
    "claims_of_package",
    "drawing",
    "estimate",
    "every",
    "levels",
    "once",
    "p_value",
    "reopen",
    "reproduce",
    "whole",
]
