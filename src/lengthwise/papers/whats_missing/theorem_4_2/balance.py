"""Claim: without balance, lengths 1 and 2 say nothing about length 3."""

import torch

from lengthwise.claims import Claim, Estimate, Finding, Results, every
from lengthwise.papers.whats_missing import ARXIV
from lengthwise.papers.whats_missing.theorem_4_2.instances import instances
from lengthwise.papers.whats_missing.theorem_4_2.section import THEOREM
from lengthwise.theory import Structure, certify, model_with_tables, unbalanced_model


def evidence(results: Results) -> list[Finding]:
    """Certify models that solve lengths 1 and 2 and break the exact condition of balance."""
    certificates = [
        certify(model_with_tables(*random_unbalanced(vocab, generator).matrices()), [1, 2, 3])
        for vocab, generator in instances(results.scale)
    ]
    wrong = sum(one.margins[3] < 0 for one in certificates) / len(certificates)
    counterexample = certify(unbalanced_model(4), [1, 2, 3])
    return [
        Finding(
            "2C/3 minus the precision at length 3, every random unbalanced model (logits)",
            every([2 / 3 * one.strength - one.precision(3) for one in certificates], "models"),
            smallest=0.0,
        ),
        Finding(
            "precision at lengths 1 and 2 of the same models",
            every([min(one.precision(1), one.precision(2)) for one in certificates], "models"),
            smallest=0.0,
        ),
        Finding(
            "displacement at length 3 of x = 10, delta = 11, with its sign turned (derived: 7/3)",
            every([-counterexample.precision(3)], "models"),
            smallest=0.0,
            decides=False,
        ),
        Finding(
            "share of the random models that name a seen token at length 3",
            Estimate(wrong, wrong, wrong, len(certificates), "models"),
            smallest=0.0,
            decides=False,
        ),
    ]


def random_unbalanced(vocab: int, generator: torch.Generator) -> Structure:
    """Precision 1 at lengths 1 and 2, with delta - 2x below what length 3 needs."""
    zeros = torch.zeros(vocab, dtype=torch.float64)
    beyond = 0.5 + 9.5 * torch.rand(vocab, generator=generator, dtype=torch.float64)
    part = 0.9 * torch.rand(vocab, generator=generator, dtype=torch.float64)
    x = 1 + beyond
    # At length 3 the last token needs delta >= 2x - (2/3)(x - 1), which is x + 1 + beyond / 3.
    return Structure(x, x + 1 + part * beyond / 3, zeros, zeros, zeros)


BALANCE = Claim(
    name="whats-missing/balance-is-needed",
    sentence=(
        "Without balance, a model with precision C at lengths 1 and 2 may fall short of 2C/s, and "
        "name a seen token, at length 3."
    ),
    source=f"{ARXIV}, Theorem 4.2 (b); the counterexample is our derivation",
    experiment=THEOREM,
    evidence=evidence,
    place=60,
)
