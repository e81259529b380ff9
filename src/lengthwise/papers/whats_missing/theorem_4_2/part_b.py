"""Claim: Theorem 4.2 (b), balanced precision at lengths 1 and 2 gives 2C/s at every length."""

import torch

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.papers.whats_missing import ARXIV
from lengthwise.papers.whats_missing.theorem_4_2.instances import VOCABULARIES, instances
from lengthwise.papers.whats_missing.theorem_4_2.section import THEOREM
from lengthwise.theory import Certificate, Structure, certify, minimal_model, model_with_tables

ROUNDING = 1e-9
"""What float64 may take off a ratio that is exactly 1."""


def evidence(results: Results) -> list[Finding]:
    """Certify random balanced models: by the lemma every model of the theorem has their form."""
    ratios = [
        min(rates(certify(model_with_tables(*random_balanced(vocab, generator).matrices()))))
        for vocab, generator in instances(results.scale)
    ]
    tightest = [max(rates(certify(minimal_model(vocab)))) for vocab in VOCABULARIES]
    return [
        Finding(
            "precision at length s over 2C/s: least over all s >= 3, every random balanced model "
            f"(smaller than 1 by at most {ROUNDING:g}, for rounding)",
            every(ratios, "models"),
            smallest=1 - ROUNDING,
        ),
        Finding(
            "the same, greatest over s, of the minimal construction: 1 where the law is attained",
            every(tightest, "vocabularies"),
            smallest=1 - ROUNDING,
            decides=False,
        ),
    ]


def rates(certificate: Certificate) -> list[float]:
    """Precision over 2C/s at every length from 3 on."""
    lengths = range(3, certificate.vocab)
    return [certificate.precision(s) * s / (2 * certificate.strength) for s in lengths]


def random_balanced(vocab: int, generator: torch.Generator) -> Structure:
    """A random structure with delta >= 2x; for every other token the two are equal."""

    def draw(low: float, high: float) -> torch.Tensor:
        uniform = torch.rand(vocab, generator=generator, dtype=torch.float64)
        return low + (high - low) * uniform

    x = draw(0.5, 5)
    more = draw(0, 5) * (torch.arange(vocab) % 2)
    return Structure(x, 2 * x + more, draw(-3, 3), draw(-3, 3), draw(-3, 3))


THEOREM_B = Claim(
    name="whats-missing/theorem-4.2b",
    sentence=(
        "With constant attention, precision C at lengths 1 and 2 in a balanced way gives precision "
        "2C/s at every longer length."
    ),
    source=f"{ARXIV}, Theorem 4.2 (b)",
    experiment=THEOREM,
    evidence=evidence,
    place=50,
)
