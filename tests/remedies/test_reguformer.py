"""Reguformer's choice of queries and keys, and what its public code gets wrong."""

import math
from typing import Any, get_args

import pytest
import torch
from torch import Tensor
from weight_tools import everything, made, numbers

from lengthwise.errors import InputError
from lengthwise.models import GPT, MinimalTransformer
from lengthwise.models.blocks import Size
from lengthwise.remedies.reguformer import Selection

HEADS, LENGTH = 2, 30
SELECTIONS = get_args(Selection)
MOST = math.ceil(math.log(LENGTH))  # with factor 1


def weights(select: str, scores: Tensor, **options: Any) -> Tensor:
    torch.manual_seed(0)
    one = made("reguformer", HEADS, select=select, **{"factor": 1, **options})
    return one.weights(scores, everything(LENGTH, LENGTH))


def even(rows: Tensor) -> Tensor:
    """Which rows give every key the same."""
    return (rows - 1 / LENGTH).abs().amax(-1) < 1e-12


@pytest.mark.parametrize("select", SELECTIONS)
def test_so_many_queries_and_keys_are_chosen(select: str) -> None:
    scores = numbers(3, HEADS, LENGTH, LENGTH)
    found = weights(select, scores)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, HEADS, LENGTH).double())
    kept = ~even(found)
    assert (kept.sum(-1) == (MOST if "Q" in select else LENGTH)).all()
    read = (found[kept].view(3, HEADS, -1, LENGTH) > 0).any(-2)
    assert (read.sum(-1) == (MOST if "K" in select else LENGTH)).all()
    # What is chosen is a softmax of the scores among what is chosen.
    hidden = scores.masked_fill(~read.unsqueeze(-2), -torch.inf).softmax(-1)
    torch.testing.assert_close(found[kept], hidden[kept])


def test_the_results_of_chosen_queries_are_in_their_own_rows() -> None:
    """The public code puts them into the rows of the chosen keys' numbers."""
    scores = numbers(1, HEADS, LENGTH, LENGTH, scale=0.1)
    queries, keys = [3, 7, 11, 29], [2, 5, 13, 17]
    scores[..., queries, :] += 1000.0  # whichever keys they meet
    scores[..., keys] += 50.0
    found = weights("topQ_topK", scores)
    for head in range(HEADS):
        assert (~even(found[0, head])).nonzero().flatten().tolist() == queries
        assert (found[0, head, queries[0]] > 0).nonzero().flatten().tolist() == keys


@pytest.mark.parametrize("select", ["randQ", "randK"])
def test_every_place_may_be_drawn_and_none_twice(select: str) -> None:
    """The public code never draws the last place, and some places twice."""
    torch.manual_seed(0)
    one = made("reguformer", HEADS, select=select, factor=1).train()
    scores, seen = numbers(1, HEADS, LENGTH, LENGTH), torch.zeros(LENGTH)
    for _ in range(60):
        found = one.weights(scores, everything(LENGTH, LENGTH))
        chosen = ~even(found[0]) if select == "randQ" else (found[0] > 0).any(-2)
        assert (chosen.sum(-1) == MOST).all()
        seen += chosen.sum(0)
    assert (seen > 0).all()
    assert one.step == 60


def test_outside_training_every_pass_draws_the_same() -> None:
    scores = numbers(1, HEADS, LENGTH, LENGTH)
    assert torch.equal(weights("randQ_randK", scores), weights("randQ_randK", scores))


def slow_sparsity(scores: Tensor) -> Tensor:
    """Largest score less the sum over n, where every query meets every key."""
    return torch.tensor([float(row.max()) - float(row.sum()) / LENGTH for row in scores])


def test_top_queries_are_the_least_even_ones() -> None:
    """If all keys are met, which a large factor would do, the order is that of the measure."""
    torch.manual_seed(0)
    one = made("reguformer", 1, select="topQ", factor=1)
    scores = numbers(1, LENGTH, LENGTH)
    everyone = torch.ones(1, LENGTH, dtype=torch.bool)
    worth = one._sparsity(scores, everyone, torch.tensor([[MOST]]), one.key, everyone)
    torch.testing.assert_close(worth[0].float(), slow_sparsity(scores[0]))


def test_with_a_large_factor_it_is_softmax() -> None:
    scores = numbers(2, HEADS, LENGTH, LENGTH)
    for select in SELECTIONS:
        torch.testing.assert_close(weights(select, scores, factor=100), scores.softmax(-1))


def test_models_that_hide_later_tokens_refuse_it() -> None:
    with pytest.raises(InputError, match=r"remedy = 'reguformer': expected another one: .* later"):
        GPT(5, 9, Size(1, 2, 8), remedies=("reguformer",))
    with pytest.raises(
        InputError, match="remedy = 'reguformer': expected one that does not choose"
    ):
        MinimalTransformer(remedies=("reguformer",))
    GPT(5, 9, Size(1, 2, 8), remedies=("reguformer",), causal=False)
