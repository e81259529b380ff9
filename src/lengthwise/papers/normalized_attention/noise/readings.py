"""Attention over random keys, by NAP and by softmax, with the package's own remedies."""

import torch
from torch import Tensor

from lengthwise.claims import Results, Scale, once
from lengthwise.claims.readings import slope
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.nap import NAP

COUNTS = (16, 64, 256, 1024, 4096, 16384)
FEATURES = 16
AHEAD = 4.0
"""By how much the score of one key exceeds the others. Ours, as all sizes here."""

NOISE = (0.0, 0.1, 0.3, 1.0)
"""Standard deviation of the others' scores."""

POPULATIONS: dict[Scale, int] = {"quick": 32, "laptop": 512, "paper": 2048}

KINDS = ("NAP", "softmax")


def weights(kind: str, scores: Tensor) -> Tensor:
    """Attention weights of scores `(draws, keys)`."""
    if kind == "softmax":
        return scores.softmax(-1)
    shape = Shape(FEATURES, 1, 1, FEATURES, 0, scores.shape[-1], scores.shape[-1])
    rows = scores.unsqueeze(0).unsqueeze(0)
    return NAP(shape).weights(rows, Keys(torch.zeros(1, 1)))[0, 0].detach()


def drawn(scale: Scale, count: int, noise: float) -> Tensor:
    """Scores of `count` keys of which the first is ahead, one row per population."""
    generator = torch.Generator().manual_seed(count)
    scores = noise * torch.randn(POPULATIONS[scale], count, generator=generator)
    scores[:, 0] = AHEAD
    return scores


@once
def found_share(results: Results, kind: str, noise: float, count: int) -> list[float]:
    """The first key's part of the sum of squared weights, by population.

    That is its part of the mix's energy, where values are independent and alike.
    """
    squares = weights(kind, drawn(results.scale, count, noise)).square()
    shares: list[float] = (squares[:, 0] / squares.sum(-1)).tolist()
    return shares


@once
def deviation(results: Results, kind: str) -> dict[int, list[float]]:
    """The standard deviation over features of the mix of random values, by N and population."""
    found = {}
    for count in COUNTS:
        generator = torch.Generator().manual_seed(-count)
        rows = []
        for part in range(0, POPULATIONS[results.scale], 32):
            size = min(32, POPULATIONS[results.scale] - part)
            scores = torch.randn(size, count, generator=generator)
            values = torch.randn(size, count, FEATURES, generator=generator)
            mix = torch.einsum("bn,bnf->bf", weights(kind, scores), values)
            rows.append(mix.square().mean(-1).sqrt())
        found[count] = torch.cat(rows).tolist()
    return found


def rates(results: Results, kind: str) -> list[float]:
    """The k of a growth like N^k of the mix's deviation, by population."""
    by_count = deviation(results, kind)
    columns = zip(*(by_count[count] for count in COUNTS), strict=True)
    return [slope(COUNTS, column) for column in columns]
