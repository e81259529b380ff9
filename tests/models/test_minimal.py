import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import MinimalModel, MinimalTransformer
from lengthwise.remedies import Keys
from lengthwise.testing._shared import SITES, Sum
from lengthwise.training import Hyperparameters

NORMS = ["none", *(f"{norm}:place={place}" for norm in ("layernorm", "standardization", "rmsnorm")
                  for place in ("before", "after"))]  # fmt: skip


@st.composite
def models(draw: st.DrawFn, **fixed: object) -> MinimalTransformer:
    choices = {
        "vocab": st.integers(2, 9),
        "extra_width": st.integers(0, 4),
        "key_width": st.sampled_from([None, 1, 3]),
        "value_width": st.sampled_from([None, 2, 7]),
        "pre_norm": st.booleans(),
        "remedies": st.tuples(
            st.sampled_from(["none", "constant", "scalable"]), st.sampled_from(NORMS)
        ),
    }
    settings = {name: fixed.get(name, draw(choice)) for name, choice in choices.items()}
    torch.manual_seed(draw(st.integers(0, 1000)))
    return MinimalTransformer(**settings).double().eval()  # type: ignore[arg-type]


def some_tokens(model: MinimalTransformer, batch: int = 5, length: int = 6) -> Tensor:
    """Tokens that repeat now and then: nothing in the model forbids it."""
    return torch.randint(model.vocab, (batch, length))


@given(models())
def test_shape(model: MinimalTransformer) -> None:
    assert model(some_tokens(model)).shape == (5, 6, model.vocab)


@given(models(), st.integers(1, 5))
def test_causality(model: MinimalTransformer, cut: int) -> None:
    tokens = some_tokens(model)
    changed = tokens.clone()
    changed[:, cut:] = torch.randint(model.vocab, changed[:, cut:].shape)
    torch.testing.assert_close(model(tokens)[:, :cut], model(changed)[:, :cut], rtol=0, atol=1e-12)


@given(models(), st.permutations(range(5)))
def test_order_of_all_but_the_last_token_does_not_matter(
    model: MinimalTransformer, order: list[int]
) -> None:
    tokens = some_tokens(model)
    logits = model(tokens)[:, -1]
    shuffled = model(tokens[:, [*order, 5]])[:, -1]
    torch.testing.assert_close(logits, shuffled, rtol=1e-9, atol=1e-9)


@given(models(remedies=("constant",)))
def test_constant_attention_is_bias_plus_mean_displacement(model: MinimalTransformer) -> None:
    tokens = some_tokens(model)
    bias, displacement = model.bias_matrix(), model.displacement_matrix()
    means = displacement[tokens].cumsum(1) / torch.arange(1, 7).view(-1, 1)
    torch.testing.assert_close(model(tokens), bias[tokens] + means)


@given(models(remedies=()))
def test_softmax_attention_is_bias_plus_weighted_displacement(model: MinimalTransformer) -> None:
    tokens = some_tokens(model)
    read = model.pre_norm(model.embedding.weight)
    scores = model.attention.products(read, read, Keys(torch.zeros(())))[0]
    for row, length in itertools.product(range(5), range(1, 7)):
        seen = tokens[row, :length]
        weights = scores[seen[-1], seen].softmax(0)
        expected = model.bias_matrix()[seen[-1]] + weights @ model.displacement_matrix()[seen]
        torch.testing.assert_close(model(tokens)[row, length - 1], expected)


def test_widths_and_parameters() -> None:
    model = MinimalTransformer(vocab=16, extra_width=5, key_width=3, value_width=7)
    assert model.width == 20
    assert model.attention.query.weight.shape == (3, 20)
    assert model.attention.output.weight.shape == (20, 7)
    assert all(not name.endswith("bias") or "norm" in name for name, _ in model.named_parameters())


def test_a_remedy_and_its_baseline_start_out_equal() -> None:
    states = []
    for remedies, rate in (((), 0.0), (("layernorm",), 0.3)):
        torch.manual_seed(3)
        model = MinimalTransformer(remedies=remedies, resid_dropout=rate)
        states.append(model.state_dict())
    for name, tensor in states[0].items():
        if not name.endswith("rate"):
            assert torch.equal(tensor, states[1][name]), name


@pytest.mark.parametrize("site", SITES)
def test_dropout_acts_in_training_only(site: str) -> None:
    model = MinimalTransformer(**{site: 0.5})
    tokens = torch.randint(16, (8, 8))
    assert not torch.equal(model.train()(tokens), model(tokens)), "another step, another mask"
    assert torch.equal(model.eval()(tokens), model(tokens))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocab": 1}, "vocab = 1: expected at least 2"),
        ({"extra_width": -15}, "extra_width = -15"),
        ({"remedies": ("layrnorm",)}, "did you mean 'layernorm'"),
        ({"remedies": ("constant", "constant")}, "'constant' and 'constant': both replace"),
        ({"attention_dropout": 1.0}, r"attention_dropout = 1.0: expected a rate in \[0, 1\)"),
        ({"embed_dropout": -0.1}, "embed_dropout = -0.1"),
        ({"remedies": ("rotary",), "key_width": 3}, "width of a head = 3: expected even"),
        (
            {"remedies": ("differential",), "key_width": 3},
            "key_width = 3: expected a mult",
        ),
        ({"value_width": 0}, "value_width = 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MinimalTransformer(**settings)  # type: ignore[arg-type]


def test_a_token_has_one_position_id() -> None:
    with pytest.raises(InputError, match="task = 'sum': expected one with one position id"):
        MinimalModel().build(Sum(padded=True, tracks=2), Hyperparameters())


def test_models_that_read_faster_are_packed_together() -> None:
    slow = {"embed_dropout": 0.1}, {"attention_dropout": 0.1}
    fast = {}, {"resid_dropout": 0.1}, {"learning_rate": 0.1}
    keys = [
        {MinimalModel().pack_key(Hyperparameters(**one)) for one in group}  # type: ignore[arg-type]
        for group in (slow, fast)
    ]
    assert [len(one) for one in keys] == [1, 1]
    assert keys[0] != keys[1]
