"""A minimal transformer as three tables over its vocabulary, in float64."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, require
from lengthwise.models import MinimalTransformer
from lengthwise.remedies import Keys

RANK_TOLERANCE = 1e-6
"""Singular values below this part of the largest one count as zero: float32 leaves no more."""


@dataclass(frozen=True)
class Tables:
    """What a minimal transformer computes, as tables of `(vocab, vocab)`.

    Without a norm after attention, the logits of an input with the tokens T and the last token l
    are `bias[l]` plus the mean of `displacement[i]` over T, weighted by `exp(scores[l, i])`.
    """

    bias: Tensor
    """B: what a token adds to the logits as the last one."""
    displacement: Tensor
    """D: what a token adds to the logits when attention reads nothing else."""
    scores: Tensor
    """Attention scores, by the token that reads and the token that is read."""
    linear: bool
    """Whether the tables say all: no norm after attention, and scores that stand for themselves."""

    @property
    def vocab(self) -> int:
        """Number of tokens."""
        return len(self.bias)

    @property
    def singular_values(self) -> dict[str, Tensor]:
        """Singular values of B + D and of D, largest first."""
        return {
            "B + D": torch.linalg.svdvals(self.bias + self.displacement),
            "D": torch.linalg.svdvals(self.displacement),
        }

    @property
    def ranks(self) -> dict[str, int]:
        """Ranks of B + D and of D; part (a) of Theorem 4.2 asks for v - 1 of the first."""
        return {
            name: int((values > RANK_TOLERANCE * values[0]).sum())
            for name, values in self.singular_values.items()
        }

    @property
    def score_spread(self) -> float:
        """Largest difference of two scores that one token gives; 0 is constant attention."""
        return float((self.scores.amax(1) - self.scores.amin(1)).max())

    @property
    def attention_distance(self) -> float:
        """How far attention over the whole vocabulary is from constant: mean TVD, from 0 to 1."""
        weights = self.scores.softmax(1)
        return float((weights - 1 / self.vocab).abs().sum(1).mean() / 2)


def read_tables(model: nn.Module) -> Tables:
    """The tables of a `MinimalTransformer`, whatever its dtype.

    Args:
        model: A trained or constructed model.

    Raises:
        InputError: The model is none whose tables say all.
    """
    return tables_of(in_float64(model))


@torch.no_grad()
def tables_of(model: MinimalTransformer) -> Tables:
    """The tables of a model that is in float64 already."""
    context, attention = model.pre_norm(model.embedding.weight), model.attention
    for one in (*model.remedies, *attention.remedies):
        by_token = not (one.positional or one.ordered or one.acts("scale", "bias"))
        expected = "remedies whose scores depend on the two tokens alone"
        require(by_token, "model with remedy", one.name, expected)
    read = Keys(context.new_zeros(()))
    return Tables(
        bias=model.bias_matrix(),
        displacement=model.displacement_matrix(),
        scores=attention.scores(attention.products(context, context, read), read)[0],
        linear=not attention.acts("weights", "combined", "mixed", "output"),
    )


def in_float64(model: nn.Module) -> MinimalTransformer:
    """A copy of the model in float64 on the CPU, ready to be asked; raises if it is no such model.

    Theory speaks of the function that the weights define, not of how float32 rounds it.
    """
    if not isinstance(model, MinimalTransformer):
        raise InputError(f"model = {type(model).__name__}: expected a MinimalTransformer")
    for name, weight in model.named_parameters():
        if not bool(weight.isfinite().all()):
            raise InputError(f"model: {name} holds NaN or infinity: expected finite weights")
    return copy.deepcopy(model).to("cpu", torch.float64).eval()
