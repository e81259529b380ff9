"""Models whose weights are written down instead of trained: Theorem 4.2 made of real modules.

They are ordinary float64 `MinimalTransformer`s with constant attention and no norm; they can be
saved, certified and trained further.
"""

import torch
from torch import Tensor

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import MinimalModel, MinimalTransformer
from lengthwise.runs.recipe import recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.theory.structure import Structure


def minimal_model(vocab: int, strength: float = 5.0) -> MinimalTransformer:
    """The smallest solution: width and value width v - 1, precision exactly 2C/s from length 2 on.

    With P = I - 11'/v = Q Q' the embedding is Q, the unembedding -Q' and W_V W_O = 2C I.

    Args:
        vocab: Number of tokens v, at least 3.
        strength: C, the precision at length 2.

    Raises:
        InputError: The vocabulary is below 3, or `strength` is not positive.
    """
    require(vocab >= 3, "vocab", vocab, "at least 3")
    require(strength > 0, "strength", strength, "a positive number")
    model = _blank(vocab, extra_width=0, value_width=vocab - 1)
    ones = torch.ones(vocab, 1, dtype=torch.float64)
    # All columns but the first of an orthonormal basis that begins with the column of ones.
    basis = torch.linalg.qr(torch.cat([ones, torch.eye(vocab, dtype=torch.float64)], 1)).Q[:, 1:]
    identity = torch.eye(vocab - 1, dtype=torch.float64)
    return _set(model, basis, -basis, identity, 2 * strength * identity)


def balanced_model(
    vocab: int, strength: float = 5.0, extra_width: int | None = None
) -> MinimalTransformer:
    """A wider solution, balanced in the strictest grade: every displacement is exactly 2C/s.

    Args:
        vocab: Number of tokens v.
        strength: C.
        extra_width: Width beyond v - 1, at least v + 1 (the default), which exact balance needs.

    Raises:
        InputError: `strength` is not positive, or the width is too small.
    """
    require(strength > 0, "strength", strength, "a positive number")
    return _displacing(vocab, strength, 2 * strength, extra_width)


def unbalanced_model(vocab: int, x: float = 10.0, delta: float = 11.0) -> MinimalTransformer:
    """The counterexample: it solves lengths 1 and 2, and fails at 3 for want of balance.

    Args:
        vocab: Number of tokens.
        x: Displacement of the first of two tokens; the last of two has delta - x.
        delta: Displacement of a token that stands alone.
    """
    return _displacing(vocab, x, delta, None)


def model_with_tables(
    bias: Tensor, displacement: Tensor, extra_width: int | None = None
) -> MinimalTransformer:
    """A model with constant attention that has exactly these tables B and D.

    A first block of the width names the token, a second one holds what attention adds, and the
    unembedding reads B off the first and the second as it is: width 2v and value width v.

    Args:
        bias: B, `(vocab, vocab)`.
        displacement: D, `(vocab, vocab)`.
        extra_width: Width beyond v - 1, at least v + 1 (the default).

    Raises:
        InputError: The width is too small.
    """
    vocab = len(bias)
    extra_width = vocab + 1 if extra_width is None else extra_width
    require(
        extra_width >= vocab + 1,
        "extra_width",
        extra_width,
        f"at least {vocab + 1}: a width of 2 * vocab",
    )
    model = _blank(vocab, extra_width, value_width=vocab)
    identity = torch.eye(vocab, dtype=torch.float64)
    none = torch.zeros_like(identity)
    rest = torch.zeros(vocab, extra_width - vocab - 1, dtype=torch.float64)
    return _set(
        model,
        embedding=torch.cat([identity, none, rest], 1),
        unembedding=torch.cat([bias.T, identity, rest], 1),
        value=torch.cat([identity, none, rest], 1),
        output=torch.cat([none, displacement, rest], 1).T,
    )


def _displacing(vocab: int, x: float, delta: float, extra_width: int | None) -> MinimalTransformer:
    zeros = torch.zeros(vocab, dtype=torch.float64)
    structure = Structure(x=zeros + x, delta=zeros + delta, kappa=zeros, w=zeros, p=zeros)
    return model_with_tables(*structure.matrices(), extra_width)


def _blank(vocab: int, extra_width: int, value_width: int) -> MinimalTransformer:
    shape = MinimalModel(
        extra_width=extra_width,
        key_width=1,
        value_width=value_width,
        pre_norm=False,
        remedies=("constant",),
    )
    # From a recipe, so that it can be saved.
    model = recipe_for(SetComplement(vocab), shape).build(Hyperparameters())
    assert isinstance(model, MinimalTransformer)
    return model.to(torch.float64)


@torch.no_grad()
def _set(
    model: MinimalTransformer, embedding: Tensor, unembedding: Tensor, value: Tensor, output: Tensor
) -> MinimalTransformer:
    """Write the weights, in the layout of their modules; constant attention ignores queries."""
    model.embedding.weight.copy_(embedding)
    model.unembedding.weight.copy_(unembedding)
    model.attention.value.weight.copy_(value)
    model.attention.output.weight.copy_(output)
    model.attention.query.weight.zero_()
    model.attention.key.weight.zero_()
    return model.eval()
