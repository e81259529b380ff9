"""Measures of attention weights against the weights written out in full."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.probing import weights
from lengthwise.probing.weights import MEASURES, Scoring, measure_weights


def written_out(attention: torch.Tensor, top: int) -> torch.Tensor:
    """All measures of weights `(batch, heads, queries, keys)`, by their definitions."""
    top = min(top, attention.shape[-1])
    return torch.stack(
        (
            -torch.xlogy(attention, attention).sum(-1),
            1 / attention.square().sum(-1),
            attention.amax(-1),
            attention.topk(top).values.sum(-1),
            attention[..., 0],
        )
    )


@given(
    length=st.integers(1, 70),
    groups=st.integers(1, 3),
    causal=st.booleans(),
    sharpness=st.sampled_from([0.0, 1.0, 30.0]),
    block=st.sampled_from([1, 200, 1 << 20]),
    top=st.integers(1, 12),
    every=st.integers(1, 5),
)
def test_equal_to_the_weights_written_out(length, groups, causal, sharpness, block, top, every):
    generator = torch.Generator().manual_seed(length)
    query = sharpness * torch.randn(2, 2 * groups, length, 8, generator=generator)
    key = torch.randn(2, 2, length, 8, generator=generator)
    positions = torch.arange(0, length, every)
    scores = query @ key.repeat_interleave(groups, 1).transpose(2, 3) * 0.3
    if causal:
        later = torch.arange(length) > torch.arange(length)[:, None]
        scores = scores.masked_fill(later, -torch.inf)
    expected = written_out(scores.softmax(-1)[:, :, positions], top)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "BLOCK_ELEMENTS", block)
        found = measure_weights(query, key, positions, Scoring(0.3, causal), top)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-5)


@given(width=st.integers(1, 3000), top=st.integers(1, 20), ties=st.booleans())
def test_the_folded_sum_of_the_largest_is_exact(width, top, ties):
    values = torch.rand(3, width, generator=torch.Generator().manual_seed(width))
    if ties:
        values = (values * 4).round()
    expected = values.sort(descending=True).values[:, :top].sum(-1)
    torch.testing.assert_close(weights._top(values, top).sum(-1), expected)


@given(
    rows=st.integers(1, 300),
    width=st.integers(1, 400),
    sharpness=st.sampled_from([0.0, 1.0, 100.0]),
    hidden=st.floats(0, 1),
)
def test_compiled_code_agrees_with_operations_of_torch(rows, width, sharpness, hidden):
    generator = torch.Generator().manual_seed(rows * width)
    scores = sharpness * torch.randn(1, 1, rows, width, generator=generator)
    scores.masked_fill_(torch.rand(scores.shape, generator=generator) < hidden, weights.MASKED)
    expected = weights._measures_anywhere(scores.clone(), weights._top(scores, 5))
    found = weights._measures(scores, 5)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def test_a_score_that_is_no_number_leaves_no_measure():
    scores = torch.zeros(1, 1, 3, 300)
    scores[..., 1, 7], scores[..., 2, 9] = torch.nan, torch.inf
    found = weights._measures(scores, 8)
    assert found[..., 0].isfinite().all()
    assert found[..., 1:].isnan().all()


def test_a_query_that_sees_nothing_is_not_a_number_and_its_neighbours_are_fine():
    query, key = torch.randn(1, 1, 4, 8), torch.randn(1, 1, 4, 8)
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
    mask[..., 0] = False
    found = measure_weights(query, key, torch.arange(4), Scoring(1.0, False, mask), 2)
    assert found[..., 0].isnan().all()
    assert found[..., 1:].isfinite().all()
    assert torch.equal(found[MEASURES.index("first_mass"), ..., 1:], torch.zeros(1, 1, 3))


def test_numbers_to_add_may_be_as_low_as_they_get():
    """Masks of eager attention hold the lowest number there is."""
    query, key = 50 * torch.randn(1, 1, 4, 8), torch.randn(1, 1, 4, 8)
    seen = torch.ones(4, 4, dtype=torch.bool).tril()
    added = torch.where(seen, 0.0, torch.finfo(torch.float32).min).expand(1, 1, 4, 4)
    positions = torch.arange(4)
    by_flag = measure_weights(query, key, positions, Scoring(1.0, False, seen[None, None]), 2)
    by_number = measure_weights(query, key, positions, Scoring(1.0, False, added), 2)
    torch.testing.assert_close(by_flag, by_number)
