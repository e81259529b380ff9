"""Claim: Theorem 4.2 (a), no precision at length 1 below rank v - 1."""

import torch

from lengthwise.claims import Claim, Finding, Results, every
from lengthwise.models import MinimalTransformer
from lengthwise.papers.whats_missing import ARXIV
from lengthwise.papers.whats_missing.theorem_4_2.instances import VOCABULARIES, instances
from lengthwise.papers.whats_missing.theorem_4_2.section import THEOREM
from lengthwise.randomness import seeded
from lengthwise.theory import certify, minimal_model

STEPS = 400
"""Training steps at length 1. Ours."""


def evidence(results: Results) -> list[Finding]:
    """Push models that are too narrow as far as they go, and build ones just wide enough."""
    slack = []
    for number, (vocab, _) in enumerate(instances(results.scale)):
        certificate = certify(_pushed(vocab, vocab - 2, number), lengths=[1])
        most = allowed_margin(vocab, certificate.legal_spreads[1])
        slack.append(1 - certificate.margins[1] / most)
    built = [certify(minimal_model(vocab), lengths=[1]).precision(1) for vocab in VOCABULARIES]
    return [
        Finding(
            "width v - 2, trained for a margin at length 1 with the least spread of legal logits: "
            "1 - margin / the most that rank v - 2 allows, (v - 1)/2 times the spread; every model",
            every(slack, "models"),
            smallest=0.0,
        ),
        Finding(
            "width v - 1, minimal construction with C = 5: precision at length 1, every v",
            every(built, "vocabularies"),
            smallest=0.0,
        ),
    ]


def allowed_margin(vocab: int, spread: float) -> float:
    """The largest margin at length 1 if B + D has rank v - 2 or less; 0 if legal logits are equal.

    Call M = B + D and let c_i be the middle of row i's legal logits. M - c 1' is singular, so it is
    no nearer than min_i (c_i - M_ii), which is at least the margin, to the diagonal matrix of these
    numbers; and what is left off the diagonal is at most half the spread, in each of v - 1 places.
    """
    return (vocab - 1) / 2 * spread


def _pushed(vocab: int, width: int, seed: int) -> MinimalTransformer:
    """A model trained for a margin of 1 at length 1, and for legal logits as equal as may be."""
    with seeded(seed, "theorem 4.2 (a)"):
        model = MinimalTransformer(vocab, width - vocab + 1, pre_norm=False, remedies=("constant",))
    model.to(torch.float64)
    inputs = torch.arange(vocab).unsqueeze(1)
    seen = torch.eye(vocab, dtype=torch.bool)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model(inputs)[:, 0]
        lowest = logits.masked_fill(seen, torch.inf).amin(1)
        highest = logits.masked_fill(seen, -torch.inf).amax(1)
        short = (1 - (lowest - logits.diagonal())).clamp(min=0)
        loss = (highest - lowest).square().mean() + 10 * short.square().sum()
        loss.backward()
        optimizer.step()
    return model


THEOREM_A = Claim(
    name="whats-missing/theorem-4.2a",
    sentence=(
        "Precision above 0 at length 1 needs rank(B + D) of at least v - 1, hence a width of at "
        "least v - 1; and v - 1 is enough."
    ),
    source=f"{ARXIV}, Theorem 4.2 (a)",
    experiment=THEOREM,
    evidence=evidence,
    place=40,
)
