import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.models import Attention
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.scalable import Scalable

SHAPE = Shape(
    width=6, heads=1, head_width=6, value_width=6, layer=0, max_length=9, max_train_length=9
)


def all_of(count: int) -> Keys:
    return Keys(torch.zeros(1, count).double())


def factor(count: int) -> Tensor:
    return Scalable(SHAPE).double().scale(all_of(count))


@given(st.integers(1, 5000), st.floats(0.1, 3.0))
def test_scores_grow_with_the_logarithm_of_the_number_of_keys(count: int, slope: float) -> None:
    scalable = Scalable(SHAPE).double()
    with torch.no_grad():
        scalable.slope.fill_(slope)
    expected = torch.tensor([[slope * math.log(count)]]).double()
    torch.testing.assert_close(scalable.scale(all_of(count)), expected)


def test_it_starts_as_softmax_over_eight_keys() -> None:
    torch.testing.assert_close(factor(8), torch.ones(1, 1).double(), rtol=1e-6, atol=0)


def test_the_highest_score_keeps_its_weight_as_keys_are_added() -> None:
    kept = {}
    for count in (2**4, 2**14):
        scores = torch.zeros(1, count).double()
        scores[:, 0] = 1.5 * math.log(8)  # more than 1 / slope ahead: n^1.5 against n
        kept[count] = [
            float((scale * scores).softmax(-1)[0, 0]) for scale in (factor(count).detach(), 1.0)
        ]
    assert kept[2**14][0] > kept[2**4][0]
    assert kept[2**14][1] < 0.01 < kept[2**4][1], "plain softmax loses it"


@given(st.integers(1, 9))
def test_attention_counts_the_keys_that_are_seen(seen: int) -> None:
    torch.manual_seed(seen)
    attention = Attention(6, remedies=[Scalable(SHAPE)]).double()
    x, context = torch.randn(1, 6).double(), torch.randn(9, 6).double()
    log_count = torch.full((1, 9), -torch.inf).double()
    log_count[:, :seen] = 0
    alone = attention(x, context[:seen], all_of(seen))
    torch.testing.assert_close(attention(x, context, Keys(log_count)), alone)
