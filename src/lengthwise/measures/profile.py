"""What attention with a remedy does before any training: the same inputs for every remedy.

Queries and keys are random features, of which every head gets the same, so that heads differ only
where the remedy makes them; scores of plain attention are N(0, 1), and values are N(0, 1) by
themselves. Position vectors are as large beside the features as in a GPT at the start. All sizes
are ours.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.models import Attention
from lengthwise.models._base import position_ids, read_of
from lengthwise.remedies._catalogue import HEADS, WIDTH, small_shape, with_what_it_needs
from lengthwise.remedies._chain import Chain
from lengthwise.remedies.learned import DEVIATION
from lengthwise.tasks import Tokens

TRAINED = 64
"""The longest input of training, as far as the remedy is told."""

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
"""Up to eight times as long."""

HEAD_WIDTH = WIDTH // HEADS

PAIRS = 1 << 21
"""Pairs of a query and a key that are held at once; bounds the memory."""

AHEAD = 6.0
"""By how much one key stands out among scores of N(0, 1), where the largest weight is read."""


@dataclass(frozen=True)
class Profile:
    """What the last token of an input reads."""

    by_distance: Tensor
    """Mean weight of the key so many places back, `(heads, TRAINED)`, where no key stands out."""
    largest: tuple[float, ...]
    """The largest weight, as a share of all (of their sizes, where some are negative), at each of
    `LENGTHS`, where one key stands out."""
    deviation: tuple[float, ...]
    """Standard deviation of what attention gives out over random values, at each of `LENGTHS`,
    where no key stands out."""


@torch.no_grad()
def profile(specification: str = "none") -> Profile:
    """The profile of a remedy, given by name or file, with options behind a colon.

    Raises:
        InputError: There is no such remedy, or it cannot be made for the small GPT.
    """
    reader = _Reader(specification)
    # Every order of turning the same keys round: plain attention is then exactly even.
    keys, queries = _features(4, TRAINED), _queries(4, TRAINED)
    turned = torch.cat([keys.roll(shift, 1) for shift in range(TRAINED)])
    weights = reader.weights(queries.repeat(TRAINED, 1, 1), turned)
    largest, deviation = [], []
    for length in LENGTHS:
        draws = max(8, min(64, PAIRS // length**2))
        keys, queries = _features(draws, length), _queries(draws, length)
        deviation.append(float(reader.output(reader.weights(queries, keys)).std()))
        place = torch.arange(draws) * length // draws
        keys[torch.arange(draws), place] = queries[:, -1] * AHEAD * HEAD_WIDTH**-0.5
        sizes = reader.weights(queries, keys).abs()
        shares = sizes.amax(-1) / sizes.sum(-1).clamp(min=torch.finfo(sizes.dtype).tiny)
        largest.append(float(shares.mean()))
    return Profile(weights.mean(0).flip(-1), tuple(largest), tuple(deviation))


class _Reader:
    """One layer of attention whose queries and keys are what it is given."""

    def __init__(self, specification: str) -> None:
        remedies = with_what_it_needs(specification)
        chain = Chain(remedies, small_shape(specification, TRAINED, LENGTHS[-1]), stream=0)
        self._of_model = chain.of_model().eval()
        self._attention = Attention(WIDTH, heads=HEADS, remedies=chain.of_layer(0)).eval()
        for part in (self._attention.query, self._attention.key, self._attention.output):
            nn.init.eye_(part.weight)

    def weights(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Weights of the last token, `(inputs, heads, keys)`."""
        part = max(1, PAIRS // keys.shape[-2] ** 2)
        parts = zip(queries.split(part), keys.split(part), strict=True)
        return torch.cat([self._weights(*part) for part in parts])

    def output(self, weights: Tensor) -> Tensor:
        """What these weights make of random values, `(inputs, width)`."""
        values = _features(len(weights), weights.shape[-1], seed=2)
        by_head = values.unflatten(-1, (HEADS, -1)).transpose(-2, -3)
        mixed = weights.unsqueeze(-2) @ by_head
        return self._attention.finish(mixed.transpose(-2, -3)).output

    def _weights(self, queries: Tensor, keys: Tensor) -> Tensor:
        tokens = Tokens(torch.zeros(keys.shape[:-1], dtype=torch.int64))
        ids = position_ids(tokens, self._of_model)
        x, context = self._placed(queries, ids), self._placed(keys, ids)
        causal = all(one.causal for one in self._attention.remedies)
        read = read_of(tokens, ids, context, self._of_model, causal=causal)
        read = replace(read, x=x, context=context)
        attention = self._attention
        products = attention.scaled(attention.products(x, context, read), read)
        return attention.weights(attention.scores(products, read), read)[..., -1, :]

    def _placed(self, features: Tensor, ids: Tensor) -> Tensor:
        """Features with position vectors, as large as after the first norm of a GPT."""
        for one in self._of_model:
            features = one.embedded(features * DEVIATION, ids) / DEVIATION
        return features


def _features(inputs: int, length: int, seed: int = 0) -> Tensor:
    """Random features `(inputs, length, width)`, the same for every head."""
    generator = torch.Generator().manual_seed(seed * LENGTHS[-1] + length)
    return torch.randn(inputs, length, HEAD_WIDTH, generator=generator).repeat(1, 1, HEADS)


def _queries(inputs: int, length: int) -> Tensor:
    """Features all of one size, so that scores are as far apart in every input."""
    features = _features(inputs, length, seed=1)
    return functional.normalize(features, dim=-1) * WIDTH**0.5
