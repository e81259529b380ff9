"""Entmax, sparsemax and ASEntmax against the public package, and what a count means."""

import math

import entmax as public
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.func import grad, vmap
from weight_tools import causal, everything, made, numbers

from lengthwise.remedies import Keys
from lengthwise.remedies.entmax import SparseWeights, by_sorting

KINDS = {"entmax": public.entmax15, "sparsemax": public.sparsemax}
kinds = pytest.mark.parametrize("name", KINDS)


def rows(seed: int, length: int, scale: float) -> Tensor:
    return numbers(2, 3, length, length, seed=seed, scale=scale).requires_grad_()


@kinds
@given(seed=st.integers(0, 99), length=st.integers(1, 40), power=st.integers(-3, 6))
def test_weights_and_gradients_are_those_of_the_package(
    name: str, seed: int, length: int, power: int
) -> None:
    scores, read = rows(seed, length, 2.0**power), causal(length)
    ours = made(name, 3).weights(scores, read)
    theirs = KINDS[name](scores.masked_fill(read.log_count == -torch.inf, -1e9), -1)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    along = numbers(*ours.shape, seed=seed + 1)
    gradients = [torch.autograd.grad(one, scores, along)[0] for one in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-7, atol=1e-9)


@kinds
@given(seed=st.integers(0, 99), counts=st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_a_key_that_counts_three_times_is_three_keys(
    name: str, seed: int, counts: list[int]
) -> None:
    counts[0] += 1  # something is seen
    times = torch.tensor(counts)
    scores = numbers(4, 2, len(counts), seed=seed)
    once = made(name).weights(scores, Keys(times.double().log().expand(2, -1)))
    total = int(times.sum())
    often = made(name).weights(scores.repeat_interleave(times, -1), everything(total, 2))
    owner = torch.arange(len(counts)).repeat_interleave(times).expand(often.shape)
    torch.testing.assert_close(once, torch.zeros_like(scores).scatter_add(-1, owner, often))


@kinds
@given(seed=st.integers(0, 99), length=st.integers(1, 30), scale=st.floats(0.01, 30.0))
def test_sorting_finds_the_same(name: str, seed: int, length: int, scale: float) -> None:
    scores = rows(seed, length, scale).detach()
    count = torch.randint(0, 4, (length, length), generator=torch.Generator().manual_seed(seed))
    count.fill_diagonal_(1)
    ours = made(name, 3).weights(scores, Keys(count.double().log()))
    expected = by_sorting(scores, count.double(), name == "entmax")
    torch.testing.assert_close(ours, expected, rtol=1e-8, atol=1e-10)


@kinds
def test_ties_share_and_one_key_has_everything(name: str) -> None:
    one = made(name)
    tied = one.weights(torch.full((1, 1, 8), 3.0).double(), everything(8))
    torch.testing.assert_close(tied, torch.full((1, 1, 8), 1 / 8).double())
    assert one.weights(torch.tensor([[[-7.0]]]).double(), everything(1)).item() == 1.0
    far = torch.tensor([[[0.0, 1e30, -1e30]]]).double()
    assert one.weights(far, everything(3)).flatten().tolist() == [0.0, 1.0, 0.0]


@kinds
def test_gradients_are_those_of_differences(name: str) -> None:
    one = made(name)
    scores, along = numbers(1, 3, 7, seed=4), numbers(1, 3, 7, seed=5)
    read = Keys(torch.tensor([0.0, math.log(3), 0, -math.inf, 0, math.log(2), 0]).double())

    def loss(scores: Tensor) -> Tensor:
        return (one.weights(scores, read) * along).sum()

    torch.autograd.gradcheck(loss, scores.clone().requires_grad_())


@kinds
def test_under_vmap_with_counts_of_their_own_and_shared(name: str) -> None:
    squared = name == "entmax"
    scores, count = numbers(5, 2, 3, 6), torch.randint(1, 4, (5, 1, 3, 6)).double()
    for own in (count, count[0], count[0, 0, :1]):
        dim = 0 if own is count else None

        def loss(scores: Tensor, count: Tensor) -> Tensor:
            return (SparseWeights.apply(scores, count, squared) * scores.cos()).sum()

        together = vmap(grad(loss), (0, dim))(scores, own)
        for index in range(5):
            alone = grad(loss)(scores[index], own[index] if dim == 0 else own)
            torch.testing.assert_close(together[index], alone)


@given(st.integers(0, 99), st.integers(1, 50))
def test_keys_far_below_change_nothing(seed: int, more: int) -> None:
    scores = numbers(1, 1, 6, seed=seed)
    for name, reach in (("entmax", 2.0), ("sparsemax", 1.0)):
        one, least = made(name), float(scores.max()) - reach
        added = torch.cat([scores, least - numbers(1, 1, more, seed=seed).abs()], -1)
        weights = one.weights(added, everything(6 + more))
        torch.testing.assert_close(weights[..., :6], one.weights(scores, everything(6)))
        assert (weights[..., 6:] == 0).all()


def test_the_support_does_not_grow_where_the_weight_of_softmax_spreads() -> None:
    """One key ahead by 4 of others with noise of 0.5, at 64 keys and at 65536."""
    read_by: dict[str, list[float]] = {"entmax": [], "sparsemax": [], "softmax": []}
    for length in (64, 2048, 65536):
        scores = numbers(1, 8, length, scale=0.5)
        scores[..., 0] = 4.0
        for name in ("entmax", "sparsemax"):
            weights = made(name).weights(scores, everything(length, 8))
            read_by[name].append(float((weights > 0).sum(-1).double().mean()))
            assert (weights[..., 0] > 0.9).all()
        entropy = torch.special.entr(scores.softmax(-1)).sum(-1)
        read_by["softmax"].append(float(entropy.exp().mean()))
    assert max(read_by["sparsemax"]) == 1.0
    assert max(read_by["entmax"]) < 4
    small, _, large = read_by["softmax"]
    assert small < 30
    assert large > 1000


def expected_factor(one: object, x: Tensor, place: int) -> list[float]:
    """1 + softplus(w_b . x) (log(place + 2))^(2 tanh(w_g . x)), number by number."""
    weight = one.law.weight.detach()  # type: ignore[attr-defined]
    heads = len(weight) // 2
    factors = []
    for head in range(heads):
        strength = math.log1p(math.exp(float(weight[head] @ x)))
        power = 2 * math.tanh(float(weight[heads + head] @ x))
        factors.append(1 + strength * math.log(place + 2) ** power)
    return factors


@given(st.integers(0, 99), st.integers(1, 20))
def test_the_law_of_asentmax(seed: int, length: int) -> None:
    torch.manual_seed(seed)
    one = made("asentmax", 3)
    with torch.no_grad():
        one.law.weight.mul_(30)
    x = numbers(2, length, 12, seed=seed)
    factor = one.scale(causal(length, x=x))
    assert factor.shape == (2, 3, length, 1)
    for place in range(length):
        expected = expected_factor(one, x[1, place], place)
        assert factor[1, :, place, 0].tolist() == pytest.approx(expected)


def test_both_starts_of_asentmax() -> None:
    torch.manual_seed(0)
    drawn = made("asentmax", 8, 64).law.weight.detach()
    assert drawn.std() == pytest.approx(0.02, rel=0.1)
    zero, x = made("asentmax", 2, start="zero"), numbers(9, 8)
    torch.testing.assert_close(
        zero.scale(causal(9, x=x)), torch.full((2, 9, 1), 1 + math.log(2)).double()
    )


def test_asentmax_may_leave_the_first_half_of_the_heads_alone() -> None:
    torch.manual_seed(0)
    one = made("asentmax", 4, heads="last")
    factor = one.scale(causal(5, x=numbers(2, 5, 16)))
    assert (factor[:, :2] == 1).all()
    assert (factor[:, 2:] != 1).all()
