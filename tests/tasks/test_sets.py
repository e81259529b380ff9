import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.randomness import at
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, SetTask
from lengthwise.tasks._sets import directions, shuffled


@given(st.integers(1, 3000), st.integers(-(2**63), 2**63 - 1))
def test_a_shuffle_is_a_permutation(bound: int, key: int) -> None:
    order = shuffled(torch.tensor(key), torch.arange(bound), bound)
    assert torch.equal(order.sort().values, torch.arange(bound))


@given(st.integers(1, 200), st.data())
def test_any_numbers_can_be_asked_for(bound: int, data: st.DataObject) -> None:
    keys = torch.tensor([[1], [2]])
    whole = shuffled(keys, torch.arange(bound), bound)
    some = torch.tensor(data.draw(st.lists(st.integers(0, bound - 1), min_size=1, max_size=9)))
    assert torch.equal(shuffled(keys, some, bound), whole[..., some])


@pytest.mark.parametrize("bound", [3, 4, 5, 6])
def test_all_orders_are_equally_likely(bound: int) -> None:
    count, orders = 40_000, math.factorial(bound)
    found = shuffled(at(torch.tensor(4), torch.arange(count)), torch.arange(bound), bound)
    codes = (found * bound ** torch.arange(bound)).sum(-1)
    observed = codes.unique(return_counts=True)[1]
    assert len(observed) == orders
    # Chi-squared: its mean and deviation are those of its degrees of freedom.
    excess = ((observed - count / orders) ** 2 / (count / orders)).sum() - (orders - 1)
    assert excess < 4 * math.sqrt(2 * (orders - 1))


def test_pairs_of_many_are_independent() -> None:
    count, bound = 40_000, 1 << 14
    found = shuffled(at(torch.tensor(5), torch.arange(count)), torch.arange(2), bound)
    coarse = (found * 8) // bound
    observed = torch.bincount(coarse[:, 0] * 8 + coarse[:, 1], minlength=64)
    assert ((observed - count / 64) ** 2 / (count / 64)).sum() < 63 + 4 * math.sqrt(2 * 63)


def test_directions_have_length_one_and_no_preference() -> None:
    vectors = directions(at(torch.tensor(6), torch.arange(20_000)), 5)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(20_000))
    assert vectors.mean(0).abs().max() < 0.02
    torch.testing.assert_close(vectors.T @ vectors / 20_000, torch.eye(5) / 5, atol=0.01, rtol=0)


@pytest.mark.parametrize(
    "task",
    [
        ArgmaxRetrieval(4),
        DictionaryLookup(4),
        DictionaryLookup(3, keys="symbols", symbols=30),
        DictionaryLookup(3, keys="repeating", symbols=7),
    ],
    ids=repr,
)
def test_all_answers_and_places_are_equally_likely(task: SetTask) -> None:
    count, length = 20_000, 5
    lookup = task.draw_lookups(torch.tensor(8), length, count)
    for values, number in ((lookup.label, task.classes), (lookup.item, length)):
        observed = torch.bincount(values, minlength=number) / count
        assert (observed - 1 / number).abs().max() < 5 * (0.25 / count) ** 0.5
