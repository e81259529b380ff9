"""Models that have no exact method: inputs that are gone through or tried, and a search for worse.

Without positions the order of the tokens before the last one changes nothing, so an input is its
last token and the set of its tokens: there are s C(v, s) of them, not v! / (v - s)!.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.models import MinimalTransformer
from lengthwise.randomness import address
from lengthwise.remedies import Keys
from lengthwise.tasks import SetComplement

STARTS = 8
"""From how many of the worst inputs that were drawn a search begins."""

CHUNK = 1 << 14
"""Inputs that are run at once; bounds the memory, changes no result."""

Goal = Callable[[Tensor, Tensor], Tensor]
"""(logits, which tokens the input holds), both `(inputs, vocab)` -> what to make small."""


@dataclass(frozen=True)
class Tried:
    """The smallest value of a goal that was found at one length."""

    value: float
    worst_input: tuple[int, ...]
    inputs: int
    """How many inputs were tried, or how many there are if that is all."""
    complete: bool
    """Whether these are all inputs of the length."""


def margin(logits: Tensor, held: Tensor) -> Tensor:
    """Lowest legal logit minus the highest logit of an input token."""
    lowest = logits.masked_fill(held, torch.inf).amin(-1)
    return lowest - logits.masked_fill(~held, -torch.inf).amax(-1)


def negative_spread(logits: Tensor, held: Tensor) -> Tensor:
    """Lowest minus highest legal logit."""
    lowest = logits.masked_fill(held, torch.inf).amin(-1)
    return lowest - logits.masked_fill(held, -torch.inf).amax(-1)


@torch.no_grad()
def try_inputs(
    model: MinimalTransformer, length: int, goals: Sequence[Goal], inputs: int, seed: int
) -> list[Tried]:
    """Make each goal small: over all inputs if no more than `inputs` differ, else by search."""
    if length * math.comb(model.vocab, length) <= inputs:
        candidates = all_inputs(model.vocab, length)
        found = [values.min(0) for values in _values(model, candidates, goals)]
        there_are = math.perm(model.vocab, length)
        return [
            Tried(float(value), tuple(candidates[index].tolist()), there_are, complete=True)
            for value, index in found
        ]
    key = torch.tensor(address(seed, "certify"))
    drawn = SetComplement(model.vocab).draw(key, length, inputs).inputs
    return [
        _search(model, drawn, values, goal)
        for goal, values in zip(goals, _values(model, drawn, goals), strict=True)
    ]


def all_inputs(vocab: int, length: int) -> Tensor:
    """Every last token after every set of others: `(inputs, length)`."""
    combinations = list(itertools.combinations(range(vocab - 1), length - 1))
    others = torch.tensor(combinations, dtype=torch.int64)
    pieces = []
    for last in range(vocab):
        skipping = others + (others >= last)
        pieces.append(torch.cat([skipping, torch.full((len(others), 1), last)], 1))
    return torch.cat(pieces)


def neighbours(tokens: Tensor, vocab: int) -> Tensor:
    """All inputs that differ in one token or in which token is last: `(inputs, length)`."""
    length = len(tokens)
    unseen = torch.ones(vocab, dtype=torch.bool).index_fill(0, tokens, False).nonzero().flatten()
    exchanged = tokens.repeat(length * len(unseen), 1)
    place = torch.arange(length).repeat_interleave(len(unseen))
    exchanged[torch.arange(len(exchanged)), place] = unseen.repeat(length)
    turned = tokens.repeat(length - 1, 1)
    earlier = torch.arange(length - 1)
    turned[earlier, earlier], turned[:, -1] = tokens[-1], tokens[:-1]
    return torch.cat([exchanged, turned])


def last_logits(model: MinimalTransformer, inputs: Tensor) -> Tensor:
    """Logits after the last token only, `(inputs, vocab)`: each input reads the vocabulary once."""
    context = model.pre_norm(model.embedding.weight)
    pieces = []
    for part in inputs.split(CHUNK):
        last = part[:, -1]
        log_count = held_tokens(part, model.vocab).to(context.dtype).log()
        read = Keys(log_count[:, None, None])
        mixed = model.attention(context[last].unsqueeze(1), context.unsqueeze(0), read).squeeze(1)
        pieces.append(model.unembedding(model.embedding.weight[last] + mixed))
    return torch.cat(pieces)


def held_tokens(inputs: Tensor, vocab: int) -> Tensor:
    """Which tokens each input holds: `(inputs, vocab)`."""
    return torch.zeros(len(inputs), vocab, dtype=torch.bool).scatter_(1, inputs, True)


def _values(model: MinimalTransformer, inputs: Tensor, goals: Sequence[Goal]) -> list[Tensor]:
    logits, held = last_logits(model, inputs), held_tokens(inputs, model.vocab)
    return [goal(logits, held) for goal in goals]


def _search(model: MinimalTransformer, drawn: Tensor, values: Tensor, goal: Goal) -> Tried:
    """From each of the worst inputs go to the worst neighbour, as long as that is worse still."""
    tried = len(drawn)
    worst: list[tuple[float, Tensor]] = []
    for start in values.argsort()[:STARTS]:
        value, tokens = float(values[start]), drawn[start]
        while True:
            around = neighbours(tokens, model.vocab)
            (found,) = _values(model, around, [goal])
            tried += len(around)
            if float(found.min()) >= value:
                break
            value, tokens = float(found.min()), around[found.argmin()]
        worst.append((value, tokens))
    value, tokens = min(worst, key=lambda one: one[0])
    return Tried(value, tuple(tokens.tolist()), tried, complete=False)
