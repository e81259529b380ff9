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
from lengthwise.models.set_reader import SoftmaxRead
from lengthwise.remedies import NORMS, SCORES, WEIGHINGS
from lengthwise.tasks import Question

ITEM, QUERY, CLASSES = 5, 3, 4
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@st.composite
def models(draw: st.DrawFn) -> SetReader:
    torch.manual_seed(draw(st.integers(0, 1000)))
    model = SetReader(
        ITEM, QUERY, CLASSES,
        width=16,
        heads=draw(st.sampled_from([1, 2, 4])),
        attention=draw(st.sampled_from(sorted(SCORES))),
        norm=draw(st.sampled_from(sorted(NORMS))),
        norm_place=draw(st.sampled_from(["before", "after"])),
        residual=draw(st.booleans()),
    )  # fmt: skip
    model.attention.weigh = WEIGHINGS[draw(st.sampled_from(sorted(WEIGHINGS)))]()
    with torch.no_grad():
        model.item_encoder.weight.mul_(4)  # so that attention is far from even
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            if "norm" in name:  # as training may leave it
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return model.double().eval()


def a_question(length: int, batch: int = 6) -> Question:
    return Question(torch.randn(batch, length, ITEM).double(), torch.randn(batch, QUERY).double())


def encoded(model: SetReader, question: Question) -> tuple[Tensor, Tensor]:
    """psi_q and psi_x written out: `(batch, 1, width)` and `(batch, items, width)`."""
    query = model.query_lift(functional.gelu(model.query_encoder(question.query)))
    items = model.item_lift(functional.gelu(model.item_encoder(question.items)))
    return query.unsqueeze(1), items


def plain_weights(model: SetReader, question: Question) -> Tensor:
    query, items = encoded(model, question)
    visible = torch.zeros(1, items.shape[1]).double()
    scores = model.attention.scores(query, items, visible)
    return model.attention.weigh(scores, visible).squeeze(-2)


def plain_logits(model: SetReader, question: Question) -> Tensor:
    """With keys and values for every item, as a textbook has it."""
    query, items = encoded(model, question)
    output = model.attention(query, items, torch.zeros(1, items.shape[1]).double())
    return model.answer((output + query if model.residual else output).squeeze(1))


@given(models(), st.integers(1, 30))
def test_the_folded_form_is_the_plain_form(model: SetReader, length: int) -> None:
    question = a_question(length)
    torch.testing.assert_close(model(question), plain_logits(model, question), **CLOSE)


@given(models(), st.integers(1, 20), st.data())
def test_reading_in_any_parts_is_reading_at_once(
    model: SetReader, length: int, data: st.DataObject
) -> None:
    question = a_question(length)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, length - 1)), max_size=4)) - {length})
    passes = []

    def parts() -> Iterator[Tensor]:
        passes.append(1)
        for first, last in zip([0, *cuts], [*cuts, length], strict=True):
            yield question.items[:, first:last]

    read = model.read(question.query, length, parts)
    torch.testing.assert_close(read.logits, plain_logits(model, question), **CLOSE)
    torch.testing.assert_close(read.weights, plain_weights(model, question), **CLOSE)
    adaptive = isinstance(model.attention.weigh, WEIGHINGS["adaptive"])
    assert len(passes) == (2 if adaptive else 1)
    normed = model.attention.norm(read.before_norm)
    torch.testing.assert_close(read.after_norm, normed, **CLOSE)


@given(models())
def test_scores_far_from_zero_do_not_overflow(model: SetReader) -> None:
    question = a_question(12)
    with torch.no_grad():
        model.attention.query.weight.mul_(1e5)
    parts = question.items.split(5, dim=1)
    # In float32, exp of these scores is infinite.
    read = model.float().read(question.query.float(), 12, lambda: [part.float() for part in parts])
    assert read.logits.isfinite().all()
    torch.testing.assert_close(read.weights.sum(-1), torch.ones_like(read.weights[..., 0]))


@given(models(), st.permutations(range(9)))
def test_the_order_of_items_does_not_matter(model: SetReader, order: list[int]) -> None:
    items, query = a_question(9)
    expected = model(Question(items, query))
    torch.testing.assert_close(model(Question(items[:, order], query)), expected, **CLOSE)


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
    model, question = SetReader(ITEM, QUERY, CLASSES, width=16, heads=2).double(), a_question(7)
    gradients = []
    for logits in (model(question), plain_logits(model, question)):
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
    reader, lift = torch.randn(2, 3, 7).double(), torch.randn(7, 4).double()
    features = torch.randn(2, 5, 4).double()
    source = features @ lift.T
    scores = attention.fold(reader, lift) @ features.unsqueeze(1).mT
    torch.testing.assert_close(scores, attention.scores(reader, source), **CLOSE)
    weights = scores.softmax(-1)
    mixed = attention.unfold(weights @ features.unsqueeze(1), lift)
    expected = attention(reader, source, torch.zeros(3, 5).double())
    torch.testing.assert_close(attention.finish(mixed).output, expected, **CLOSE)


@pytest.mark.parametrize("site", ["dropout_weights", "dropout_output"])
def test_dropout_acts_in_training_only(site: str) -> None:
    model, question = SetReader(ITEM, QUERY, CLASSES, width=16, **{site: 0.5}), a_question(8)
    question = Question(question.items.float(), question.query.float())
    assert not torch.equal(model.train()(question), model(question)), "another step, another mask"
    assert torch.equal(model.eval()(question), model(question))


def test_dropped_weights_are_right_on_average() -> None:
    torch.manual_seed(2)
    model = SetReader(ITEM, QUERY, CLASSES, width=16, dropout_weights=0.3)
    model.answer = torch.nn.Identity()  # so that the output is linear in the weights
    items, query = torch.randn(1, 4, ITEM), torch.randn(1, QUERY)
    question = Question(items.expand(5000, -1, -1), query.expand(5000, -1))
    expected = model.eval()(question)
    dropped = model.train()(question)
    assert dropped.std(0).min() > 1e-3
    torch.testing.assert_close(dropped.mean(0), expected[0], atol=0.01, rtol=0)


def test_a_remedy_and_its_baseline_start_out_equal() -> None:
    states = []
    for norm, attention in (("none", "softmax"), *((norm, "scalable") for norm in NORMS)):
        torch.manual_seed(3)
        reader = SetReader(ITEM, QUERY, CLASSES, width=16, norm=norm, attention=attention)
        states.append(reader.state_dict())
    for state in states[1:]:
        for name, tensor in states[0].items():
            assert torch.equal(tensor, state[name]), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "layrnorm"}, "norm = 'layrnorm': did you mean 'layernorm'"),
        ({"norm": "batch-norm"}, "did you mean 'batchnorm'"),
        ({"attention": "scaleable"}, "did you mean 'scalable'"),
        ({"norm_place": "under"}, "norm_place = 'under'"),
        ({"width": 0}, "width = 0: expected at least 1"),
        ({"heads": 0}, "heads = 0: expected at least 1"),
        ({"width": 10, "heads": 4}, "width = 10: expected a multiple of heads = 4"),
        ({"dropout_weights": 1.0}, r"dropout_weights = 1.0: expected a rate in \[0, 1\)"),
        ({"dropout_output": -0.1}, "dropout_output = -0.1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SetReader(ITEM, QUERY, CLASSES, **settings)  # type: ignore[arg-type]
