import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lengthwise.errors import InputError
from lengthwise.remedies import NORMS
from lengthwise.remedies.norms import BatchNorm, PerHeadNorm


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8), (2, 1, 3, 8)])
def test_a_norm_keeps_the_shape(name: str, shape: tuple[int, ...]) -> None:
    assert NORMS[name](8, 2)(torch.randn(shape)).shape == shape


@given(st.integers(2, 20), st.integers(1, 6), st.integers(0, 100))
def test_batch_norm_is_that_of_torch(batch: int, width: int, seed: int) -> None:
    torch.manual_seed(seed)
    ours, theirs = BatchNorm(width).double(), nn.BatchNorm1d(width).double()
    weight, bias = torch.randn(2, width).double()
    for norm in (ours, theirs):
        with torch.no_grad():
            norm.weight.copy_(weight)
            norm.bias.copy_(bias)
    for _ in range(4):
        values = (torch.randn(batch, width) * 3 + 2).double()
        inputs = [values.clone().requires_grad_() for _ in range(2)]
        outputs = [norm(x) for norm, x in zip((ours, theirs), inputs, strict=True)]
        torch.testing.assert_close(*outputs)
        gradients = [
            torch.autograd.grad(output.pow(3).sum(), [x, norm.weight, norm.bias])
            for norm, x, output in zip((ours, theirs), inputs, outputs, strict=True)
        ]
        torch.testing.assert_close(*gradients)
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    torch.testing.assert_close(ours.variance, theirs.running_var)
    values = torch.randn(3, width).double()
    torch.testing.assert_close(ours.eval()(values), theirs.eval()(values))


def test_batch_norm_needs_a_batch() -> None:
    with pytest.raises(InputError, match="batch = 1: expected at least 2"):
        BatchNorm(4)(torch.randn(1, 4))
    BatchNorm(4).eval()(torch.randn(1, 4))


@given(st.sampled_from([1, 2, 4]), st.integers(0, 100))
def test_per_head_norm_treats_every_head_alone(heads: int, seed: int) -> None:
    torch.manual_seed(seed)
    norm = PerHeadNorm(8, heads).double()
    values = torch.randn(5, 3, 8).double() * torch.arange(1, 9)
    by_head = values.unflatten(-1, (heads, -1))
    expected = nn.functional.layer_norm(by_head, by_head.shape[-1:]).flatten(-2)
    torch.testing.assert_close(norm(values), expected)
    changed = values.clone()
    changed[..., : 8 // heads] += torch.randn(8 // heads).double()
    torch.testing.assert_close(norm(changed)[..., 8 // heads :], expected[..., 8 // heads :])


def test_what_each_norm_fixes_and_learns() -> None:
    values = (torch.randn(50, 8) * 5 + 3).double()
    outputs = {name: make(8, 2).double()(values) for name, make in NORMS.items()}
    assert torch.equal(outputs["none"], values)
    ones = torch.ones(50).double()
    for name in ("layernorm", "standardization"):
        torch.testing.assert_close(outputs[name].mean(-1), 0 * ones)
        torch.testing.assert_close(outputs[name].var(-1, unbiased=False), ones, atol=1e-4, rtol=0)
    torch.testing.assert_close(outputs["rmsnorm"].square().mean(-1), ones, atol=1e-4, rtol=0)
    learned = {name: {n for n, _ in make(8, 2).named_parameters()} for name, make in NORMS.items()}
    assert learned["standardization"] == learned["none"] == set()
    assert learned["layernorm"] == learned["batchnorm"] == {"weight", "bias"}
    assert learned["rmsnorm"] == {"weight"}
