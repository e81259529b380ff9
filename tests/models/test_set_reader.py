from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.func import grad, vmap
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import Attention, SetReader
from lengthwise.models.items_read import SoftmaxRead
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys
from lengthwise.remedies.norms import Norm
from lengthwise.tasks import SetInput
from lengthwise.testing._readers import with_keys

ITEM, QUERY, CLASSES = 5, 3, 4
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
NORMS = [
    f"{name}:place={place}"
    for name in REMEDIES.listed()
    if issubclass(REMEDIES.get(name), Norm)
    for place in ("before", "after")
    if (name, place) != ("layernorm-per-head", "after")
]


@st.composite
def models(draw: st.DrawFn) -> SetReader:
    torch.manual_seed(draw(st.integers(0, 1000)))
    model = SetReader(
        ITEM, QUERY, CLASSES,
        width=16,
        heads=draw(st.sampled_from([1, 2, 4])),
        residual=draw(st.booleans()),
        remedies=(
            draw(st.sampled_from(["none", "constant", "scalable"])),
            draw(st.sampled_from(["none", "adaptive", "differential", "nap"])),
            draw(st.sampled_from(["none", *NORMS])),
        ),
    )  # fmt: skip
    with torch.no_grad():
        model.item_encoder.weight.mul_(4)  # so that attention is far from even
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            if "norm" in name:  # as training may leave it
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return model.double().eval()


def a_set(length: int, batch: int = 6) -> SetInput:
    return SetInput(torch.randn(batch, length, ITEM).double(), torch.randn(batch, QUERY).double())


def plain_weights(model: SetReader, inputs: SetInput) -> Tensor:
    query = model.query_lift(functional.gelu(model.query_encoder(inputs.query))).unsqueeze(1)
    items = model.item_lift(functional.gelu(model.item_encoder(inputs.items)))
    attention, read = model.attention, Keys(torch.zeros(1, items.shape[1]).double())
    products = attention.scaled(attention.products(query, items, read), read)
    return attention.weights(attention.scores(products, read), read).squeeze(-2)


@given(models(), st.integers(1, 30))
def test_the_folded_form_is_the_plain_form(model: SetReader, length: int) -> None:
    inputs = a_set(length)
    torch.testing.assert_close(model(inputs), with_keys(model, inputs), **CLOSE)


@given(models(), st.integers(1, 20), st.data())
def test_reading_in_any_parts_is_reading_at_once(
    model: SetReader, length: int, data: st.DataObject
) -> None:
    inputs = a_set(length)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, length - 1)), max_size=4)) - {length})
    passes = []

    def parts() -> Iterator[Tensor]:
        passes.append(1)
        for first, last in zip([0, *cuts], [*cuts, length], strict=True):
            yield inputs.items[:, first:last]

    read = model.read(inputs.query, length, parts)
    torch.testing.assert_close(read.logits, with_keys(model, inputs), **CLOSE)
    torch.testing.assert_close(read.weights, plain_weights(model, inputs), **CLOSE)
    attention = model.attention
    assert len(passes) == (2 if attention.acts("scores", "weights", "combined") else 1)
    norms = [one for one in attention.remedies if isinstance(one, Norm)]
    if norms and not attention.acts("weights", "combined"):
        torch.testing.assert_close(read.after_norm, norms[0].norm(read.before_norm), **CLOSE)


@given(models())
def test_scores_far_from_zero_do_not_overflow(model: SetReader) -> None:
    inputs = a_set(12)
    with torch.no_grad():
        model.attention.query.weight.mul_(1e5)
    parts = inputs.items.split(5, dim=1)
    # In float32, exp of these scores is infinite.
    read = model.float().read(inputs.query.float(), 12, lambda: [part.float() for part in parts])
    assert read.logits.isfinite().all()
    if model.attention.stochastic:
        torch.testing.assert_close(read.weights.sum(-1), torch.ones_like(read.weights[..., 0]))


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 4), st.integers(0, 100), st.booleans())
def test_the_gradient_of_a_softmax_read(
    items: int, queries: int, width: int, seed: int, under_vmap: bool
) -> None:
    torch.manual_seed(seed)
    features = torch.randn(2, items, width, dtype=torch.float64, requires_grad=True)
    asking = torch.randn(2, queries, width, dtype=torch.float64, requires_grad=True)

    def read(features: Tensor, queries: Tensor) -> Tensor:
        return SoftmaxRead.apply(features, queries)[0]

    assert torch.autograd.gradcheck(vmap(read) if under_vmap else read, (features, asking))


def test_gradients_of_the_whole_model_are_those_of_the_plain_form() -> None:
    torch.manual_seed(0)
    model, inputs = SetReader(ITEM, QUERY, CLASSES, width=16, heads=2).double(), a_set(7)
    gradients = []
    for logits in (model(inputs), with_keys(model, inputs)):
        loss = logits.logsumexp(-1).sum()
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_per_model_gradients_under_vmap() -> None:
    torch.manual_seed(1)
    features, queries = torch.randn(3, 2, 5, 4).double(), torch.randn(3, 2, 1, 4).double()

    def ours(features: Tensor, queries: Tensor) -> Tensor:
        return SoftmaxRead.apply(features, queries)[0].square().sum()

    def theirs(features: Tensor, queries: Tensor) -> Tensor:
        return ((queries @ features.mT).softmax(-1) @ features).square().sum()

    for argument in (0, 1):
        expected = vmap(grad(theirs, argument))(features, queries)
        torch.testing.assert_close(vmap(grad(ours, argument))(features, queries), expected)


@given(st.sampled_from([1, 2, 3, 6]), st.integers(0, 100))
def test_folding_and_unfolding_are_scores_and_values(heads: int, seed: int) -> None:
    torch.manual_seed(seed)
    attention = Attention(7, heads=heads, key_width=12, value_width=6).double()
    x, lift = torch.randn(2, 3, 7).double(), torch.randn(7, 4).double()
    features = torch.randn(2, 5, 4).double()
    context, read = features @ lift.T, Keys(torch.zeros(3, 5).double())
    scores = attention.fold(x, lift) @ features.unsqueeze(1).mT
    torch.testing.assert_close(scores, attention.products(x, context, read), **CLOSE)
    weights = scores.softmax(-1)
    mixed = attention.unfold(weights @ features.unsqueeze(1), lift)
    expected = attention(x, context, read)
    torch.testing.assert_close(attention.finish(mixed).output, expected, **CLOSE)


@pytest.mark.parametrize("site", ["attention_dropout", "resid_dropout"])
def test_dropout_acts_in_training_only(site: str) -> None:
    model, inputs = SetReader(ITEM, QUERY, CLASSES, width=16, **{site: 0.5}), a_set(8)
    inputs = SetInput(inputs.items.float(), inputs.query.float())
    assert not torch.equal(model.train()(inputs), model(inputs)), "another step, another mask"
    assert torch.equal(model.eval()(inputs), model(inputs))


def test_dropped_weights_are_right_on_average() -> None:
    torch.manual_seed(2)
    model = SetReader(ITEM, QUERY, CLASSES, width=16, attention_dropout=0.3)
    # So that the output is linear in the weights.
    model.answer = torch.nn.Identity()  # type: ignore[assignment]
    items, query = torch.randn(1, 4, ITEM), torch.randn(1, QUERY)
    inputs = SetInput(items.expand(5000, -1, -1), query.expand(5000, -1))
    expected = model.eval()(inputs)
    dropped = model.train()(inputs)
    assert dropped.std(0).min() > 1e-3
    torch.testing.assert_close(dropped.mean(0), expected[0], atol=0.01, rtol=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"remedies": ("scaleable",)}, "remedy = 'scaleable': did you mean 'scalable'"),
        ({"remedies": ("learned",)}, "remedy = 'learned': expected one that needs no positions"),
        ({"width": 0}, "width = 0: expected at least 1"),
        ({"heads": 0}, "heads = 0: expected at least 1"),
        ({"width": 10, "heads": 4}, "width = 10: expected a multiple of heads = 4"),
        ({"attention_dropout": 1.0}, r"attention_dropout = 1.0: expected a rate in \[0, 1\)"),
        ({"resid_dropout": -0.1}, "resid_dropout = -0.1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SetReader(ITEM, QUERY, CLASSES, **settings)  # type: ignore[arg-type]
