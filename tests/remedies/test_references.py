"""ALiBi, FIRE, differential attention and NAP against slow, obvious forms of their formulas."""

import math

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.models import GPT, Attention, MinimalTransformer
from lengthwise.models.blocks import Size
from lengthwise.remedies import Keys
from lengthwise.remedies.alibi import slopes
from lengthwise.tasks import Tokens
from lengthwise.testing._shared import shaken
from lengthwise.testing.remedy import calls

Rows = numpy.ndarray
VOCAB, LENGTH, TRAINED = 7, 9, 4
HEADS, WIDTH = 2, 16


def gpt(*remedies: str, seed: int = 0, causal: bool = True) -> GPT:
    torch.manual_seed(seed)
    model = GPT(
        VOCAB, LENGTH, Size(3, HEADS, WIDTH), remedies=remedies, max_train_length=TRAINED,
        causal=causal,
    )  # fmt: skip
    return shaken(model.double()).eval()


def numbers(tensor: torch.Tensor) -> Rows:
    return tensor.detach().numpy()


def linear(layer: torch.nn.Linear, rows: Rows) -> Rows:
    projected = rows @ numbers(layer.weight).T
    return projected if layer.bias is None else projected + numbers(layer.bias)


def softmax(scores: Rows) -> Rows:
    weights = numpy.exp(scores - scores.max())
    return weights / weights.sum()


def gelu(rows: Rows) -> Rows:
    return rows * numpy.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))(rows)


def products(attention: Attention, x: Rows, maps: int) -> Rows:
    """Unscaled products of queries and keys of every map: `(maps of all heads, queries, keys)`."""
    width = WIDTH // maps
    queries, keys = linear(attention.query, x), linear(attention.key, x)
    return numpy.stack(
        [
            queries[:, m * width : (m + 1) * width] @ keys[:, m * width : (m + 1) * width].T
            for m in range(maps)
        ]
    )


def values(attention: Attention, x: Rows, head: int) -> Rows:
    width = WIDTH // HEADS
    return linear(attention.value, x)[:, head * width : (head + 1) * width]


def seen(place: int, causal: bool) -> list[int]:
    return list(range(place + 1 if causal else LENGTH))


def expected_with_bias(attention: Attention, x: Rows, bias: Rows, causal: bool) -> Rows:
    """Softmax attention with a bias `(heads, queries, keys)`, one query after the other."""
    scores = products(attention, x, HEADS) / math.sqrt(WIDTH // HEADS) + bias
    mixed = numpy.zeros((LENGTH, HEADS, WIDTH // HEADS))
    for place in range(LENGTH):
        keys = seen(place, causal)
        for head in range(HEADS):
            weights = softmax(scores[head, place, keys])
            mixed[place, head] = weights @ values(attention, x, head)[keys]
    return linear(attention.output, mixed.reshape(LENGTH, WIDTH))


def compare(model: GPT, expected: object, ids: torch.Tensor | None = None) -> None:
    """Every layer's attention on tokens against `expected(layer, attention, x)`."""
    tokens = torch.randint(VOCAB, (2, LENGTH))
    for layer, (attention, x, context, read) in enumerate(calls(model, Tokens(tokens, ids))):
        ours = numbers(attention(x, context, read))
        for row in range(2):
            theirs = expected(layer, attention, numbers(x[row]))  # type: ignore[operator]
            numpy.testing.assert_allclose(ours[row], theirs, rtol=1e-9, atol=1e-10)


def published_slopes(heads: int) -> list[float]:
    """As the authors' code has them: powers of two first, then every second of the next power."""
    if heads & (heads - 1) == 0:
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    lower = 2 ** math.floor(math.log2(heads))
    return published_slopes(lower) + published_slopes(2 * lower)[0::2][: heads - lower]


def test_slopes_of_six_heads() -> None:
    assert slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    assert slopes(8) == [2.0**-power for power in range(1, 9)]


@given(st.integers(1, 64))
def test_slopes_are_the_published_ones(heads: int) -> None:
    numpy.testing.assert_allclose(slopes(heads), published_slopes(heads), rtol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("ids", [None, [0, 1, 4, 5, 9, 10, 11, 30, 31]])
def test_alibi(causal: bool, ids: list[int] | None) -> None:
    places = ids or list(range(LENGTH))
    bias = numpy.zeros((HEADS, LENGTH, LENGTH))
    for head, slope in enumerate([2.0**-4, 2.0**-8]):
        for i, j in numpy.ndindex(LENGTH, LENGTH):
            bias[head, i, j] = -slope * abs(places[i] - places[j])
    given_ids = None if ids is None else torch.tensor([ids, ids])
    compare(
        gpt("alibi", causal=causal),
        lambda layer, attention, x: expected_with_bias(attention, x, bias, causal),
        given_ids,
    )


def fire_bias(model: GPT, places: list[int]) -> Rows:
    """b(i, j) = f(psi(i - j) / psi(max(L, i))), number by number."""
    fire = model.remedies[0]
    (first, first_bias), (second, second_bias) = (
        (numbers(fire.mlp[n].weight), numbers(fire.mlp[n].bias)) for n in (0, 2)
    )
    c, threshold = abs(fire.c.item()), abs(fire.threshold.item())

    def psi(x: float) -> float:
        return math.log(c * x + 1)

    bias = numpy.zeros((HEADS, LENGTH, LENGTH))
    for i, j in numpy.ndindex(LENGTH, LENGTH):
        argument = psi(abs(places[i] - places[j])) / (psi(max(threshold, places[i])) + 1e-6)
        hidden = numpy.maximum(first[:, 0] * argument + first_bias, 0)
        bias[:, i, j] = second @ hidden + second_bias
    return bias


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("ids", [None, [0, 1, 2, 3, 4, 20, 21, 22, 50]])
def test_fire(causal: bool, ids: list[int] | None) -> None:
    model, places = gpt("fire", causal=causal), ids or list(range(LENGTH))
    assert TRAINED - 1 < model.remedies[0].threshold < TRAINED + 1, "places are on both sides of L"
    bias = fire_bias(model, places)
    given_ids = None if ids is None else torch.tensor([ids, ids])
    compare(
        model,
        lambda layer, attention, x: expected_with_bias(attention, x, bias, causal),
        given_ids,
    )


def test_fire_is_one_for_all_layers_and_starts_at_the_training_length() -> None:
    model = GPT(VOCAB, LENGTH, Size(3, HEADS, WIDTH), remedies=("fire",), max_train_length=TRAINED)
    assert {n.split(".")[0] for n, _ in model.named_parameters() if "mlp.0" in n and "remed" in n} \
        == {"remedies"}  # fmt: skip
    assert model.remedies[0].threshold.item() == TRAINED
    assert model.remedies[0].c.item() == pytest.approx(0.1)
    biases = [read.bias for _, _, _, read in calls(model, torch.zeros(1, 5, dtype=torch.int64))]
    assert len(biases) == 3
    assert all(bias is biases[0] for bias in biases)


@given(st.integers(TRAINED, 5000))
def test_beyond_training_fire_sees_no_new_arguments(length: int) -> None:
    model = GPT(VOCAB, LENGTH, Size(1, HEADS, WIDTH), remedies=("fire",), max_train_length=TRAINED)
    ids = torch.tensor([0, length // 2, length])
    argument = model.remedies[0].argument(Keys(torch.zeros(()), ids, ids)).detach()
    assert argument.tril().amax() <= 1
    assert float(argument[..., -1, 0]) == pytest.approx(1, abs=1e-4)


LAMBDA_INIT = (0.2, 0.355509, 0.470713)
"""0.8 - 0.6 exp(-0.3 l) of layers 0, 1, 2."""


def expected_differential(
    layer: int, attention: Attention, x: Rows, bias: Rows | None = None
) -> Rows:
    """Maps 2i and 2i + 1 of head i, the second times lambda taken off the first."""
    differential = next(one for one in attention.remedies if one.name == "differential")
    start = 0.8 - 0.6 * math.exp(-0.3 * layer)
    assert start == pytest.approx(LAMBDA_INIT[layer], abs=1e-6)
    query_1, key_1, query_2, key_2 = numbers(differential.vectors)
    share = math.exp(query_1 @ key_1) - math.exp(query_2 @ key_2) + start
    scores = products(attention, x, 2 * HEADS) / math.sqrt(WIDTH // (2 * HEADS))
    weight = numbers(differential.norm.weight)
    assert weight.shape == (WIDTH // HEADS,), "one vector, which heads share"
    mixed = numpy.zeros((LENGTH, HEADS, WIDTH // HEADS))
    for place in range(LENGTH):
        keys = seen(place, causal=True)
        for head in range(HEADS):
            added = 0 if bias is None else bias[head, place, keys]
            first, second = (softmax(scores[2 * head + m, place, keys] + added) for m in range(2))
            out = (first - share * second) @ values(attention, x, head)[keys]
            root = math.sqrt((out**2).mean() + 1e-5)
            mixed[place, head] = (1 - start) * weight * out / root
    return linear(attention.output, mixed.reshape(LENGTH, WIDTH))


def test_differential() -> None:
    model = gpt("differential")
    assert model.blocks[0].attention.remedies[0].vectors.shape == (4, WIDTH // (2 * HEADS))
    compare(model, expected_differential)


def test_alibi_under_both_maps_of_differential() -> None:
    bias = numpy.zeros((HEADS, LENGTH, LENGTH))
    for head, slope in enumerate([2.0**-4, 2.0**-8]):
        for i, j in numpy.ndindex(LENGTH, LENGTH):
            bias[head, i, j] = -slope * abs(i - j)
    model = gpt("alibi", "differential")
    compare(model, lambda layer, attention, x: expected_differential(layer, attention, x, bias))


def test_a_differential_head_begins_near_lambda_init() -> None:
    torch.manual_seed(0)
    model = GPT(VOCAB, LENGTH, Size(3, 1, 512), remedies=("differential",))
    shares = [float(block.attention.remedies[0].share) for block in model.blocks]
    spread = 0.01 * math.sqrt(2 * 256)  # two products of 256 pairs of N(0, 0.1)
    for share, start in zip(shares, LAMBDA_INIT, strict=True):
        assert abs(share - start) < 4 * spread
    assert len(set(shares)) == 3


def nap_weights(scores: Rows, counts: Rows, gain: float, shift: float) -> Rows:
    """Standardized over keys, each of which stands there `counts` times."""
    every = numpy.repeat(scores, counts)
    mean, deviation = every.mean(), every.std()
    return numpy.array(
        [
            count * (gain * (score - mean) / (deviation + 1e-3) + shift)
            for score, count in zip(scores, counts, strict=True)
        ]
    )


def expected_nap(attention: Attention, x: Rows, context: Rows, counts: Rows) -> Rows:
    """`counts` has a row for every query: how often it sees each key."""
    nap = attention.remedies[0]
    queries, keys = linear(attention.query, x), linear(attention.key, context)
    width = WIDTH // HEADS
    mixed = numpy.zeros((len(x), HEADS, width))
    for head in range(HEADS):
        part = slice(head * width, (head + 1) * width)
        for place in range(len(x)):
            weights = nap_weights(
                keys[:, part] @ queries[place, part], counts[place],
                float(nap.gain[head]), float(nap.shift[head]),
            )  # fmt: skip
            mixed[place, head] = weights @ linear(attention.value, context)[:, part]
    rows = mixed.reshape(len(x), WIDTH)
    centred = rows - rows.mean(-1, keepdims=True)
    normed = centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    normed = normed * numbers(nap.norm.weight) + numbers(nap.norm.bias)
    return linear(attention.output, gelu(normed))


def test_nap() -> None:
    counts = numpy.tril(numpy.ones((LENGTH, LENGTH), dtype=int))
    compare(gpt("nap"), lambda layer, attention, x: expected_nap(attention, x, x, counts))


@given(st.lists(st.integers(0, 5), min_size=5, max_size=5), st.integers(0, 100))
def test_nap_with_counts(given_counts: list[int], seed: int) -> None:
    given_counts[0] += 1  # something is seen
    attention = gpt("nap", seed=seed).blocks[1].attention
    x, context = torch.randn(3, WIDTH).double(), torch.randn(5, WIDTH).double()
    counts = numpy.array([given_counts] * 3)
    read = Keys(torch.tensor(counts).double().log())
    expected = expected_nap(attention, numbers(x), numbers(context), counts)
    ours = numbers(attention(x, context, read))
    numpy.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-8)


def test_nap_finds_what_stands_out_at_any_length() -> None:
    """One key ahead of equal others keeps its weight beside theirs, where softmax loses it."""
    torch.manual_seed(0)
    nap = MinimalTransformer(remedies=("nap",)).attention.remedies[0]
    for length in (16, 4096):
        scores = torch.zeros(1, 1, length)
        scores[..., 0] = 4.0
        weights = nap.weights(scores, Keys(torch.zeros(1, length)))[0, 0]
        assert weights[0].square() / weights.square().sum() > 0.9
        assert weights.sum().abs() < 1e-2
