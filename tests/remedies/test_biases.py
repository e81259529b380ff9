"""Biases by position or context: equal to public implementations, and to slow obvious forms."""

import math

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import GPT, Attention
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys, Remedy, Shape
from lengthwise.remedies.cope import Positioned, positioned
from lengthwise.tasks import Tokens
from lengthwise.testing._shared import shaken
from lengthwise.testing.remedy import calls

x_transformers = pytest.importorskip("x_transformers.x_transformers")

HEADS, WIDTH, LENGTH = 4, 32, 40


def shape(heads: int = HEADS, max_train_length: int = 16) -> Shape:
    return Shape(
        width=WIDTH, heads=heads, head_width=WIDTH // heads, value_width=WIDTH, layer=0,
        max_length=LENGTH, max_train_length=max_train_length,
    )  # fmt: skip


def made(name: str, heads: int = HEADS, **options: object) -> Remedy:
    torch.manual_seed(0)
    one: Remedy = shaken(REMEDIES.get(name)(shape(heads), **options).double())
    return one


def counted(length: int = LENGTH, *, causal: bool = True) -> Keys:
    """What tokens 0, 1, ... see."""
    hidden = torch.full((length, length), -torch.inf if causal else 0.0).double().triu(1)
    return Keys(hidden, torch.arange(length), torch.arange(length), causal=causal)


def seen(bias: Tensor) -> Tensor:
    """The part of a bias that causal attention sees, as numbers."""
    return bias.detach().tril()


def test_alibi_is_that_of_x_transformers() -> None:
    for heads in (2, 4, 6, 8, 12):
        theirs = x_transformers.AlibiPositionalBias(heads)(LENGTH, LENGTH)
        torch.testing.assert_close(made("alibi", heads).bias(counted()), theirs.double())


@pytest.mark.parametrize("buckets", [8, 32])
@pytest.mark.parametrize("max_distance", [20, 128, 500])
def test_t5_is_that_of_x_transformers_and_transformers(buckets: int, max_distance: int) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    t5 = made("t5", buckets=buckets, max_distance=max_distance)
    distance = torch.arange(3000)
    for theirs in (
        T5Attention._relative_position_bucket(
            -distance, bidirectional=False, num_buckets=buckets, max_distance=max_distance
        ),
        x_transformers.RelativePositionBias._relative_position_bucket(
            -distance, causal=True, num_buckets=buckets, max_distance=max_distance
        ),
    ):
        assert torch.equal(t5.bucket(distance), theirs)
    module = x_transformers.RelativePositionBias(
        1.0, causal=True, num_buckets=buckets, max_distance=max_distance, heads=HEADS
    ).double()
    module.relative_attention_bias.load_state_dict({"weight": t5.table})
    torch.testing.assert_close(seen(t5.bias(counted())), seen(module(LENGTH, LENGTH)))


def test_t5_starts_as_transformers_does() -> None:
    table = REMEDIES.get("t5")(shape()._replace(width=10_000, heads=100)).table
    assert table.std().item() == pytest.approx(0.01, rel=0.1)


def test_nape_slopes_are_those_of_the_authors_code() -> None:
    expected = {
        "linear": [1, 1 / 2, 1 / 3, 0, 0, 0, 0],
        "exponential": [1, 1 / 2, 1 / 4, 0, 0, 0, 0],
    }
    for kind, slopes in expected.items():
        bias = REMEDIES.get("nape")(shape(7), slopes=kind).bias(counted(5))
        for head, i, j in numpy.ndindex(7, 5, 5):
            assert bias[head, i, j] == pytest.approx(-slopes[head] * abs(i - j))
    with pytest.raises(InputError, match="heads = 1: expected at least 2 for nape"):
        REMEDIES.get("nape")(shape(1))


def test_kerple() -> None:
    kerple = made("kerple")
    with torch.no_grad():
        kerple.rate[0], kerple.strength[1] = -3.0, 0.001  # both count as 0.01
    bias = kerple.bias(counted(9))
    for head, i, j in numpy.ndindex(HEADS, 9, 9):
        strength = max(kerple.strength[head].item(), 0.01)
        rate = max(kerple.rate[head].item(), 0.01)
        expected = -strength * math.log(1 + rate * abs(i - j))
        assert bias[head, i, j].item() == pytest.approx(expected, abs=1e-12)
    (-bias.sum()).backward()
    for weight in (kerple.rate, kerple.strength):
        assert (weight.grad > 0).all(), "a weight that counts as 0.01 can still rise"


def test_kerple_starts_where_the_authors_code_does() -> None:
    torch.manual_seed(0)
    kerple = REMEDIES.get("kerple")(shape()._replace(heads=2000))
    for weight, most in ((kerple.strength, 2.0), (kerple.rate, 1.0)):
        assert 0 <= weight.min() < 0.01 * most
        assert 0.99 * most < weight.max() <= most
        assert weight.mean().item() == pytest.approx(most / 2, rel=0.05)


def test_cope_is_that_of_x_transformers() -> None:
    for count, length in ((5, 6), (16, LENGTH)):
        cope = made("cope", count=count)
        theirs = x_transformers.CoPE(WIDTH // HEADS, HEADS, count).double()
        theirs.load_state_dict({"pos_emb": cope.vectors})
        queries, keys = torch.randn(2, 3, HEADS, length, WIDTH // HEADS).double()
        read = counted(length)
        scaled = queries * (WIDTH // HEADS) ** -0.5
        scores = scaled @ keys.mT
        hidden = (read.log_count == -torch.inf).expand(scores.shape)
        expected = scores + theirs(queries, scores.masked_fill(hidden, -1e300))
        ours = cope.scores(scores, Keys(read.log_count, queries=scaled))
        torch.testing.assert_close(seen(ours), seen(expected))
        ours.tril().square().sum().backward()
        theirs.zero_grad()
        expected.tril().square().sum().backward()
        torch.testing.assert_close(cope.vectors.grad, theirs.pos_emb.grad)


@given(st.integers(0, 1000), st.integers(2, 7), st.booleans())
def test_compiled_rows_of_cope_are_what_tensors_give(seed: int, count: int, shared: bool) -> None:
    torch.manual_seed(seed)
    scores = (3 * torch.randn(2, 3, 4, 9).double()).requires_grad_()
    whole = torch.randn(2, 3, 4, count).double().requires_grad_()
    hidden = torch.rand((4, 9) if shared else (2, 1, 4, 9)) < 0.3
    found, expected = (
        Positioned.apply(scores, whole, hidden, None),
        positioned(scores, whole, hidden),
    )
    torch.testing.assert_close(found, expected)
    gradient = torch.randn_like(found)
    ours, theirs = (
        torch.autograd.grad(one, (scores, whole), gradient) for one in (found, expected)
    )
    torch.testing.assert_close(ours, theirs)


def test_cope_counts_gates_and_shares_its_last_position() -> None:
    """Open gates count keys one by one: CoPE is then a learned vector per distance."""
    cope = made("cope", count=6)
    queries = torch.randn(HEADS, 20, WIDTH // HEADS).double()
    scores = torch.full((HEADS, 20, 20), 60.0).double()
    added = cope.scores(scores, Keys(counted(20).log_count, queries=queries)) - scores
    root = (WIDTH // HEADS) ** 0.5
    for i in range(20):
        for j in range(i + 1):
            expected = root * queries[:, i] @ cope.vectors[min(i - j + 1, 5)]
            torch.testing.assert_close(added[:, i, j], expected)


def test_cope_sees_the_queries_of_every_map_and_way_through() -> None:
    """Scores are made with queries inside attention, and with recomputed ones outside of it."""
    torch.manual_seed(0)
    model = shaken(GPT(7, 9, Size(2, 2, 16), remedies=("cope", "scalable")).double()).eval()
    for attention, x, context, read in calls(model, torch.randint(7, (3, 9))):
        caught: list[Tensor] = []
        original = attention.weights
        attention.weights = lambda s, r, o=original, c=caught: (c.append(s), o(s, r))[1]
        attention(x, context, read)
        products = attention.scaled(attention.products(x, context, read), read)
        torch.testing.assert_close(attention.scores(products, read), caught[0])


def test_fox_is_that_of_x_transformers() -> None:
    fox = made("fox")
    theirs = x_transformers.DataDependentAlibi(WIDTH, HEADS).double()
    theirs.to_forget_gates[0].load_state_dict(fox.gates.state_dict())
    x = torch.randn(3, LENGTH, WIDTH).double()
    read = counted()
    ours = fox.bias(Keys(read.log_count, x=x, context=x, causal=True))
    torch.testing.assert_close(seen(ours), seen(theirs(x)))
    by_mask = fox.bias(Keys(read.log_count, x=x, context=x, causal=False))
    torch.testing.assert_close(seen(by_mask), seen(theirs(x)))


@given(st.integers(0, 50), st.booleans())
def test_fox_with_hidden_tokens(seed: int, causal: bool) -> None:
    """A token forgets at every token between that it sees, and at no other."""
    torch.manual_seed(seed)
    fox = made("fox")
    x = torch.randn(1, 7, WIDTH).double()
    log_count = counted(7, causal=causal).log_count.masked_fill(torch.rand(7) < 0.4, -torch.inf)
    log_count = log_count.masked_fill(torch.eye(7, dtype=torch.bool), 0.0)
    bias = fox.bias(Keys(log_count, x=x, context=x))
    logs = -torch.log1p(torch.exp(-fox.gates(x)))[0].detach()
    for i, j in numpy.ndindex(7, 7):
        if log_count[i, j] == 0:
            between = range(j + 1, i + 1) if j <= i else range(i + 1, j + 1)
            expected = sum((logs[k] for k in between if log_count[i, k] == 0), torch.zeros(HEADS))
            torch.testing.assert_close(bias[0, :, i, j], expected.double())


def test_fox_starts_as_told() -> None:
    for start in (0.0, 5.0):
        gates = REMEDIES.get("fox")(shape(), start=start).gates
        assert (gates.bias == start).all()
        assert gates.weight.std().item() == pytest.approx(0.02, rel=0.3)


@given(st.integers(1, 300), st.floats(-3, 3), st.floats(-300, 300))
def test_the_argument_of_fire_is_at_most_1(length: int, c: float, threshold: float) -> None:
    """The law: psi(i - j) <= psi(i) <= psi(max(L, i)), whatever is learned."""
    fire = made("fire")
    with torch.no_grad():
        fire.c.fill_(c)
        fire.threshold.fill_(threshold)
    argument = seen(fire.argument(counted(length)))
    assert (argument >= 0).all()
    assert (argument <= 1).all()


def test_fire_takes_the_larger_of_threshold_and_position() -> None:
    """Public code has taken the smaller one, which lets the argument grow beyond 1."""
    fire = made("fire")
    with torch.no_grad():
        fire.c.fill_(0.5)
        fire.threshold.fill_(8.0)
    argument = fire.argument(counted())[0]
    for i, j in ((3, 0), (8, 5), (30, 4), (39, 0)):
        expected = math.log1p(0.5 * (i - j)) / math.log1p(0.5 * max(8, i))
        assert argument[i, j].item() == pytest.approx(expected, rel=1e-5)
    with_smaller = math.log1p(0.5 * 39) / math.log1p(0.5 * min(8, 39))
    assert with_smaller > 1.5


NAMES = ["alibi", "nape", "t5", "kerple", "fire", "fox"]


@pytest.mark.parametrize("name", NAMES)
def test_biases_reach_the_scores_of_every_layer(name: str) -> None:
    torch.manual_seed(0)
    model = shaken(GPT(7, 30, Size(2, 4, 32), remedies=(name,)).double()).eval()
    for attention, x, context, read in calls(model, torch.randint(7, (3, 30))):
        assert isinstance(attention, Attention)
        own = [one.bias(read) for one in attention.remedies]
        bias = own[0] if own else read.bias
        products = attention.products(x, context, read)
        torch.testing.assert_close(attention.scores(products, read), products + bias)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "fox"])
@given(st.integers(0, 1000), st.integers(1, 40))
def test_all_but_fire_depend_on_distances_only(name: str, shift: int, step: int) -> None:
    one = made(name)
    ids = torch.tensor([0, 1, 2, 5, 30, 31]) * step
    plain, moved = (
        one.bias(Keys(torch.zeros(6, 6), places, places)) for places in (ids, ids + shift)
    )
    if name == "fire":
        assert shift <= 16 or not torch.equal(plain, moved)
    else:
        assert torch.equal(plain, moved)


@pytest.mark.parametrize("name", NAMES)
def test_batches_may_have_ids_of_their_own(name: str) -> None:
    torch.manual_seed(0)
    model = shaken(GPT(7, 50, Size(2, 4, 32), remedies=(name,)).double()).eval()
    tokens, ids = torch.randint(7, (3, 6)), torch.randint(50, (3, 6)).sort(-1).values
    together = model(Tokens(tokens, ids))
    for row in range(3):
        alone = model(Tokens(tokens[row : row + 1], ids[row : row + 1]))
        torch.testing.assert_close(together[row : row + 1], alone)
