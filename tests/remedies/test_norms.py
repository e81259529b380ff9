import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lengthwise.errors import InputError
from lengthwise.models import GPT, Attention, SetReader
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.norms import FleetBatchNorm, LayerNorm, Norm

SHAPE = Shape(
    width=8, heads=2, head_width=3, value_width=12, layer=0, max_length=9, max_train_length=9
)
NORMS = [name for name in REMEDIES.listed() if issubclass(REMEDIES.get(name), Norm)]


def made(name: str, place: str, shape: Shape = SHAPE) -> Norm:
    return REMEDIES.get(name)(shape, place=place).double()


def test_there_are_norms() -> None:
    assert len(NORMS) >= 5


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_stands_before_or_after_the_output_projection(name: str) -> None:
    """It is as wide as what it norms, and attention calls it there and nowhere else."""
    for place in ("before", "after"):
        if (name, place) == ("layernorm-per-head", "after"):
            continue
        torch.manual_seed(1)
        norm = made(name, place)
        torch.manual_seed(1)
        attention = Attention(8, heads=2, key_width=6, value_width=12, remedies=[norm]).double()
        torch.manual_seed(1)
        plain = Attention(8, heads=2, key_width=6, value_width=12).double()
        x, read = torch.randn(4, 5, 8).double(), Keys(torch.zeros(5, 5).double())
        scores = plain.scores(plain.products(x, x, read), read)
        mixed = plain.weights(scores, read) @ plain.value(x).unflatten(-1, (2, 6)).transpose(-2, -3)
        rows = mixed.transpose(-2, -3).flatten(-2)
        if place == "before":
            expected = plain.output(norm.norm(rows))
        else:
            expected = norm.norm(plain.output(rows))
        torch.testing.assert_close(attention(x, x, read), expected)


def test_heads_are_mixed_after_the_output_projection() -> None:
    remedies, message = ("layernorm-per-head:place=after",), "place = 'after': expected before"
    with pytest.raises(InputError, match=message):
        GPT(7, 9, Size(1, 2, 8), remedies=remedies)
    with pytest.raises(InputError, match=message):
        SetReader(3, 2, 4, width=8, heads=2, remedies=remedies)


def test_a_norm_of_ones_own_may_have_other_hooks() -> None:
    class Biased(LayerNorm):
        name = "biased"

        def scores(self, scores: torch.Tensor, read: Keys) -> torch.Tensor:
            return scores * 3

    attention = Attention(8, heads=2, remedies=[Biased(SHAPE._replace(value_width=8))]).double()
    assert attention.acts("scores")
    assert attention.acts("output")
    assert not attention.acts("mixed", "weights")


@given(st.integers(2, 20), st.integers(1, 6), st.integers(0, 100))
def test_batch_norm_is_that_of_torch(batch: int, width: int, seed: int) -> None:
    torch.manual_seed(seed)
    ours, theirs = FleetBatchNorm(width).double(), nn.BatchNorm1d(width).double()
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
        FleetBatchNorm(4)(torch.randn(1, 4))
    FleetBatchNorm(4).eval()(torch.randn(1, 4))


@given(st.sampled_from([1, 2, 4]), st.integers(0, 100))
def test_per_head_norm_treats_every_head_alone(heads: int, seed: int) -> None:
    torch.manual_seed(seed)
    norm = made("layernorm-per-head", "before", SHAPE._replace(heads=heads, value_width=8))
    values = (torch.randn(5, 3, 8).double() * torch.arange(1, 9)).unflatten(-1, (heads, -1))
    expected = nn.functional.layer_norm(values, values.shape[-1:])
    torch.testing.assert_close(norm.mixed(values), expected)
    changed = values.clone()
    changed[..., 0, :] += torch.randn(8 // heads).double()
    torch.testing.assert_close(norm.mixed(changed)[..., 1:, :], expected[..., 1:, :])


def test_what_each_norm_fixes_and_learns() -> None:
    values = (torch.randn(50, 8) * 5 + 3).double()
    outputs = {name: made(name, "after").output(values) for name in NORMS if "head" not in name}
    ones = torch.ones(50).double()
    for name in ("layernorm", "standardization"):
        torch.testing.assert_close(outputs[name].mean(-1), 0 * ones)
        torch.testing.assert_close(outputs[name].var(-1, unbiased=False), ones, atol=1e-4, rtol=0)
    torch.testing.assert_close(outputs["rmsnorm"].square().mean(-1), ones, atol=1e-4, rtol=0)
    torch.testing.assert_close(outputs["batchnorm"].mean(0), 0 * ones[:8])
    learned = {name: {n for n, _ in made(name, "before").named_parameters()} for name in NORMS}
    assert learned["standardization"] == set()
    assert learned["layernorm"] == learned["batchnorm"] == {"norm.weight", "norm.bias"}
    assert learned["rmsnorm"] == {"norm.weight"}
