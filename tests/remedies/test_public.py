"""Weights and scores beside x-transformers and transformers, on the same queries and keys."""

import math
import types
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm
from weight_tools import causal, made, numbers
from x_transformers.attend import Attend
from x_transformers.x_transformers import l2norm

HEADS, LENGTH, WIDTH = 3, 11, 4
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}  # their softmax is in float32
Three = tuple[Tensor, Tensor, Tensor]


def rows(seed: int = 0) -> Three:
    queries, keys, values = numbers(3, 2, HEADS, LENGTH, WIDTH, seed=seed, scale=1.5).unbind()
    return queries, keys, values


def ours(
    one: Any, queries: Tensor, keys: Tensor, values: Tensor, shift: Tensor | float = 0.0
) -> Tensor:
    """The mix of a remedy by itself."""
    read = causal(LENGTH)
    queries, keys = one.queries_keys(queries * WIDTH**-0.5, keys, read)
    scores = one.scores(queries @ keys.mT + shift, read)
    weights = one.weights(scores, read)
    if weights is None:
        weights = (scores + read.log_count).softmax(-1)
    return weights @ values


def theirs(queries: Tensor, keys: Tensor, values: Tensor, **flags: Any) -> Tensor:
    attend = Attend(causal=True, heads=HEADS, **flags).double()
    return attend(queries, keys, values)[0]


def test_the_bare_comparison_holds() -> None:
    torch.testing.assert_close(ours(made("none", HEADS, WIDTH), *rows()), theirs(*rows()), **CLOSE)


def test_off_by_one_is_a_key_and_a_value_of_zeros() -> None:
    expected = theirs(*rows(), add_zero_kv=True)
    torch.testing.assert_close(ours(made("off-by-one", HEADS, WIDTH), *rows()), expected, **CLOSE)


def test_a_sink_is_that_of_x_transformers_and_of_gpt_oss() -> None:
    sink = made("sink", HEADS, WIDTH)
    assert (sink.score == 0).all(), "starts off by one"
    with torch.no_grad():
        sink.score.copy_(numbers(HEADS, 1, 1, seed=3))
    attend = Attend(causal=True, heads=HEADS, head_learned_sink=True).double()
    attend.head_attn_sink.data = sink.score.flatten()
    torch.testing.assert_close(ours(sink, *rows()), attend(*rows())[0], **CLOSE)
    module = types.SimpleNamespace(
        sinks=sink.score.flatten(), num_key_value_groups=1, training=False
    )
    mixed, _ = eager_attention_forward(module, *rows(), causal(LENGTH).log_count, WIDTH**-0.5)
    torch.testing.assert_close(ours(sink, *rows()), mixed.transpose(1, 2), rtol=1e-9, atol=1e-9)


def test_sigmoid_without_its_bias_is_that_of_x_transformers() -> None:
    sigmoid = made("sigmoid", HEADS, WIDTH)
    expected = theirs(*rows(), sigmoid=True)
    counts = torch.arange(1.0, LENGTH + 1).double().log().view(-1, 1)
    torch.testing.assert_close(ours(sigmoid, *rows(), shift=counts), expected, **CLOSE)
    # With it, keys of score 0 have the weight that makes nearly 1 in all.
    weights = sigmoid.weights(torch.zeros(1, LENGTH, LENGTH).double(), causal(LENGTH))
    for place in range(LENGTH):
        expected_weight = 1 / (1 + (place + 1))
        assert weights[0, place, 0] == pytest.approx(expected_weight)


@given(st.integers(0, 50))
def test_selective_attention_is_that_of_x_transformers(seed: int) -> None:
    three = rows(seed)
    expected = theirs(*three, selective=True)
    torch.testing.assert_close(ours(made("selective", HEADS, WIDTH), *three), expected, **CLOSE)


def test_query_key_norm_starts_as_that_of_x_transformers() -> None:
    queries, keys, values = rows()
    expected = theirs(l2norm(queries), l2norm(keys), values, qk_norm=True, scale=10)
    one = made("qk-norm", HEADS, WIDTH)
    torch.testing.assert_close(ours(one, queries, keys, values), expected, **CLOSE)


def test_no_score_is_larger_than_the_scale() -> None:
    one = made("qk-norm", HEADS, WIDTH, start=3.0)
    queries, keys = one.queries_keys(*numbers(2, HEADS, 50, WIDTH, scale=100.0), causal(50))
    assert (queries @ keys.mT).abs().max() <= 3 + 1e-9


def test_rms_norm_of_queries_and_keys_is_that_of_qwen() -> None:
    one, (queries, keys, values) = made("qk-rmsnorm", HEADS, WIDTH), rows()
    norms = [Qwen3RMSNorm(WIDTH).double() for _ in range(2)]
    for seed, (norm, own) in enumerate(zip(norms, (one.query_norm, one.key_norm), strict=True)):
        norm.weight.data = own.weight.data = 1 + numbers(WIDTH, seed=seed)
    expected = theirs(norms[0](queries), norms[1](keys), values)
    torch.testing.assert_close(ours(one, queries, keys, values), expected, **CLOSE)


@pytest.mark.parametrize(("name", "more"), [("scalable", 0), ("ssmax", 0), ("ssmax-nakanishi", 1)])
@given(count=st.integers(1, 300))
def test_the_factors_of_scalable_softmax(name: str, more: int, count: int) -> None:
    one = made(name, HEADS)
    factor = one.scale(causal(count)).expand(HEADS, count, 1)[:, -1, 0]
    slopes = one.slope.flatten().expand(HEADS)
    assert factor.tolist() == pytest.approx(
        [float(s) * math.log(count + more) for s in slopes.detach()]
    )


def test_where_slopes_of_scalable_softmax_start() -> None:
    mean = sum(math.log(n) for n in range(1, 33)) / 32
    assert made("ssmax", 3).slope.flatten().tolist() == pytest.approx([1 / mean] * 3)
    torch.manual_seed(0)
    slopes = made("ssmax-nakanishi", 1000).slope.detach()
    assert slopes.mean() == pytest.approx(1, abs=0.002)
    assert slopes.std() == pytest.approx(0.01, rel=0.1)
