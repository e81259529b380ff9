"""The models that the claims about Theorem 4.2 go through."""

import torch

from lengthwise.claims import Scale

VOCABULARIES = (4, 5, 6, 8, 10, 12)
"""Numbers of tokens that the instances go through. Ours."""

INSTANCES: dict[Scale, int] = {"quick": 24, "laptop": 240, "paper": 1200}
"""Models per claim. Ours."""


def instances(scale: Scale) -> list[tuple[int, torch.Generator]]:
    """A vocabulary and a source of random numbers for every model of a claim."""
    return [
        (VOCABULARIES[number % len(VOCABULARIES)], torch.Generator().manual_seed(number))
        for number in range(INSTANCES[scale])
    ]
