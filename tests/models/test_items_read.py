"""The fused read of items: equal to the plain form, alone and in a fleet."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap

from lengthwise.models.items_read import ItemsRead, SoftmaxRead, features_of, read_items

Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


def drawn(batch: int, items: int, inner: int, width: int, queries: int, seed: int) -> Inputs:
    torch.manual_seed(seed)
    return (
        torch.randn(batch, items, inner),
        torch.randn(width, inner),
        torch.randn(width),
        torch.randn(batch, queries, width) / width**0.5,
    )


def plain(items: Tensor, weight: Tensor, bias: Tensor, queries: Tensor) -> Tensor:
    """Written down once more, for autograd."""
    features = torch.nn.functional.gelu(items @ weight.mT + bias)
    return (queries @ features.mT).softmax(-1) @ features


def with_gradients(read: object, inputs: Inputs, seed: int) -> list[Tensor]:
    items, *own = inputs
    leaves = [one.detach().requires_grad_() for one in own]
    mixed = read(items, *leaves)  # type: ignore[operator]
    generator = torch.Generator().manual_seed(seed)
    by_mixed = torch.randn(mixed.shape, generator=generator).to(mixed.dtype)
    return [mixed.detach(), *torch.autograd.grad(mixed, leaves, by_mixed)]


sizes = st.tuples(
    st.integers(1, 3), st.integers(1, 9), st.integers(1, 13), st.integers(1, 40), st.integers(1, 3)
)


@given(sizes, st.integers(0, 1000))
def test_mix_and_gradients_are_those_of_the_plain_form(
    size: tuple[int, int, int, int, int], seed: int
) -> None:
    inputs = drawn(*size, seed)
    exact = with_gradients(plain, tuple(one.double() for one in inputs), seed)  # type: ignore[arg-type]
    for ours, theirs in zip(with_gradients(read_items, inputs, seed), exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_models_side_by_side_are_each_alone_bit_for_bit(shared: bool) -> None:
    alone = [drawn(4, 7, 5, 24, 2, seed) for seed in range(3)]
    items, *own = (torch.stack(tensors) for tensors in zip(*alone, strict=True))
    leaves = [one.requires_grad_() for one in own]
    given = items[0] if shared else items
    mixed = vmap(read_items, in_dims=(None if shared else 0, 0, 0, 0))(given, *leaves)
    gradients = torch.autograd.grad(mixed.square().sum(), leaves)
    for number, inputs in enumerate(alone):
        mine = [one.detach().requires_grad_() for one in inputs[1:]]
        single = read_items(items[0] if shared else inputs[0], *mine)
        assert torch.equal(single, mixed[number])
        for found, expected in zip(
            torch.autograd.grad(single.square().sum(), mine), gradients, strict=True
        ):
            assert torch.equal(found, expected[number])


def test_gelu_is_right_far_out() -> None:
    """One item with weight 1: the mix is its gelu, which hardly differs from 0 far below 0."""
    x = torch.linspace(-12, 12, 4801)
    mixed = read_items(
        torch.ones(1, 1, 1), x[:, None], torch.zeros_like(x), torch.zeros(1, 1, 4801)
    )
    # torch's own gelu takes 1 - 1 down there, even in float64.
    exact = x.double() * torch.special.erfc(-x.double() / 2**0.5) / 2
    error = (mixed.flatten().double() - exact).abs()
    assert (error <= 4e-7 * x.abs().clamp(min=0.1)).all()
    tail = (x > -8) & (x < -4)
    assert (error[tail] <= 1e-5 * exact[tail].abs()).all()


def test_scores_far_apart_give_one_item_all() -> None:
    items, weight, bias, _ = drawn(1, 6, 3, 8, 1, 0)
    features = features_of(items, weight, bias)
    queries = 1e4 * torch.ones(1, 1, 8)
    chosen = (queries @ features.mT).argmax()
    mixed = read_items(items, weight, bias, queries)
    torch.testing.assert_close(mixed[0, 0], features[0, chosen])


def test_what_the_kernel_cannot_do_takes_the_plain_form() -> None:
    items, *own = drawn(2, 5, 3, 8, 1, 0)
    exact = read_items(items.double(), *(one.double() for one in own))
    assert exact.dtype == torch.float64
    items.requires_grad_()
    (by_items,) = torch.autograd.grad(read_items(items, *own).sum(), items)
    (expected,) = torch.autograd.grad(plain(items, *own).sum(), items)
    torch.testing.assert_close(by_items, expected)


def test_weights_are_those_of_the_plain_form() -> None:
    items, *first_layer, queries = drawn(3, 11, 4, 16, 2, 5)
    ours = ItemsRead.apply(items, *first_layer, queries)[1]
    theirs = SoftmaxRead.apply(features_of(items, *first_layer), queries)[1]
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours.sum(-1), torch.ones(3, 2))
