"""Claim: Proposition 1 does not need its condition E[V] = 0."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.papers.vanishing_variance.populations import (
    COUNTS,
    DRAWS,
    POPULATION,
    SOURCE,
    Kind,
    population,
    seeds,
)
from lengthwise.papers.vanishing_variance.proposition_1 import decay_findings

ROUNDING = 1e-9
"""What float64 may take off a ratio that is exactly 1."""


def evidence(results: Results) -> Sequence[Finding]:
    """A constant added to all values is added to the output: no variance can change."""
    ratios = [
        float((_variances("shifted", seed) / _variances("centred", seed)).min())
        for seed in seeds(results.scale)
    ]
    return [
        Finding(
            "variance of a feature where E[V] is not 0 / is 0, same sequences: least over all "
            "features and N, every population",
            every(ratios),
            smallest=1 - ROUNDING,
        ),
        *decay_findings(results, "shifted", "E[V] not 0"),
    ]


def _variances(kind: Kind, seed: int) -> Tensor:
    one = population(kind, seed)
    return torch.stack([one.sample(count, DRAWS, seed).var(0) for count in COUNTS])


CONDITION = Claim(
    name="vanishing-variance/condition-not-needed",
    sentence="The variance vanishes at the same rate where E[V] is not 0.",
    source=f"Our derivation, after {SOURCE}",
    experiment=POPULATION,
    evidence=evidence,
)
