import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.models import Attention
from lengthwise.remedies.scores import DotProduct, LogarithmicTemperature


@given(st.integers(1, 5000), st.floats(0.1, 3.0))
def test_scores_grow_with_the_logarithm_of_the_number_of_keys(count: int, slope: float) -> None:
    queries, keys = torch.randn(2, 4).double(), torch.randn(5, 4).double()
    score = LogarithmicTemperature().double()
    with torch.no_grad():
        score.slope.fill_(slope)
    ours = score(queries, keys, torch.tensor(float(count)).double())
    torch.testing.assert_close(ours, slope * math.log(count) * queries @ keys.T)


def test_it_starts_as_softmax_over_eight_keys() -> None:
    queries, keys = torch.randn(2, 4), torch.randn(8, 4)
    ours = LogarithmicTemperature()(queries, keys, torch.tensor(8.0))
    torch.testing.assert_close(ours, DotProduct()(queries, keys, None))


def test_the_highest_score_keeps_its_weight_as_keys_are_added() -> None:
    query, score = torch.ones(1, 1).double(), LogarithmicTemperature().double()
    kept = {}
    for count in (2**4, 2**14):
        keys = torch.zeros(count, 1).double()
        keys[0] = 1.5 * math.log(8)  # more than 1 / slope ahead: n^1.5 against n
        seen = torch.tensor(float(count)).double()
        kept[count] = [
            each(query, keys, seen).softmax(-1)[0, 0].item() for each in (score, DotProduct())
        ]
    assert kept[2**14][0] > kept[2**4][0]
    assert kept[2**14][1] < 0.01 < kept[2**4][1], "plain softmax loses it"


@given(st.integers(1, 9))
def test_attention_counts_the_keys_that_are_visible(seen: int) -> None:
    torch.manual_seed(seen)
    attention = Attention(6, score=LogarithmicTemperature()).double()
    reader, source = torch.randn(1, 6).double(), torch.randn(9, 6).double()
    visible = torch.full((1, 9), -torch.inf).double()
    visible[:, :seen] = 0
    alone = attention(reader, source[:seen], torch.zeros(1, seen).double())
    torch.testing.assert_close(attention(reader, source, visible), alone)
