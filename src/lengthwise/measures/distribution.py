"""Measures of one predicted distribution against its exact target.

Each takes logits and the target distribution, both `(..., classes)`, and gives one number per
example, `(...)`. Whatever the target gives no mass is *illegal*.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Measure = Callable[[Tensor, Tensor], Tensor]


def total_variation(logits: Tensor, target: Tensor) -> Tensor:
    """TVD: half the sum of the absolute differences of the probabilities."""
    return (logits.softmax(-1) - target).abs().sum(-1) / 2


def illegal_mass(logits: Tensor, target: Tensor) -> Tensor:
    """The probability given to illegal answers: one reading of the paper's ITR."""
    return logits.softmax(-1).masked_fill(target > 0, 0.0).sum(-1)


def argmax_illegal(logits: Tensor, target: Tensor) -> Tensor:
    """1 where the most probable answer is illegal: the other reading of ITR."""
    top = logits.argmax(-1, keepdim=True)
    return (target.gather(-1, top).squeeze(-1) == 0).to(logits.dtype)


def accuracy(logits: Tensor, target: Tensor) -> Tensor:
    """1 where the most probable answer is a right one: has any mass in the target."""
    return 1 - argmax_illegal(logits, target)


def expected_accuracy(logits: Tensor, target: Tensor) -> Tensor:
    """The mass of the most probable answer in the target: how often it is the answer drawn.

    That is the usual accuracy, less the noise of drawing.
    """
    return target.gather(-1, logits.argmax(-1, keepdim=True)).squeeze(-1)


def legal_set(logits: Tensor, target: Tensor) -> Tensor:
    """1 where exactly the legal answers are named: those of at least half an even share, 1 / 2n.

    Formal languages are scored so (arXiv 2009.11264, 2410.02140), there with an output per symbol
    that names it from 1/2 on, halfway between what illegal and legal symbols should have. Here all
    n classes share one distribution, of which a legal one should have 1/n at least: halfway to that
    is ours.
    """
    named = logits.softmax(-1) >= 1 / (2 * logits.shape[-1])
    return (named == (target > 0)).all(-1).to(logits.dtype)


def divergence(logits: Tensor, target: Tensor) -> Tensor:
    """KL(target || prediction) in nats."""
    return (torch.xlogy(target, target) - target * logits.log_softmax(-1)).sum(-1)


def displacement(logits: Tensor, target: Tensor) -> Tensor:
    """Mean logit of the legal answers minus mean logit of the illegal ones.

    Theorem 4.2 says that it falls like 2C/s with the length s. NaN where every answer is legal.
    """
    legal = (target > 0).to(logits.dtype)
    illegal = 1 - legal
    mean_legal = (logits * legal).sum(-1) / legal.sum(-1)
    return mean_legal - (logits * illegal).sum(-1) / illegal.sum(-1)


MEASURES: dict[str, Measure] = {
    "tvd": total_variation,
    "illegal_mass": illegal_mass,
    "argmax_illegal": argmax_illegal,
    "kl": divergence,
    "displacement": displacement,
    "accuracy": accuracy,
}
"""By name, one number per answer."""

GRADED: dict[str, Measure] = {
    "tvd": total_variation,
    "kl": divergence,
    "expected_accuracy": expected_accuracy,
}
"""The same of graded answers (`Task.graded`), of which none is simply right or illegal."""
