import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.remedies import Softmax
from lengthwise.remedies.weights import AdaptiveTemperature

POLYNOMIAL = [-0.037, 0.481, -2.3, 4.917, -1.791]
NOTHING_HIDDEN = torch.zeros((), dtype=torch.float64)


def softmax(scores: numpy.ndarray) -> numpy.ndarray:
    weights = numpy.exp(scores - scores.max())
    return weights / weights.sum()


def entropy(weights: numpy.ndarray) -> float:
    positive = weights[weights > 0]
    return float(-(positive * numpy.log(positive)).sum())


def sharpened(scores: numpy.ndarray) -> tuple[numpy.ndarray, float]:
    """The weights as the paper defines them, and the factor on the scores."""
    disorder = entropy(softmax(scores))
    factor = max(float(numpy.polyval(POLYNOMIAL, disorder)), 1.0) if disorder > 0.5 else 1.0
    return softmax(factor * scores), factor


scores_of_a_query = st.lists(st.floats(-6, 6), min_size=1, max_size=200).map(numpy.array)


@given(scores_of_a_query)
def test_adaptive_temperature_is_the_formula(scores: numpy.ndarray) -> None:
    ours = AdaptiveTemperature()(torch.tensor(scores), NOTHING_HIDDEN).numpy()
    expected, _ = sharpened(scores)
    numpy.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(1, 30), st.integers(0, 29), st.floats(0, 5))
def test_it_never_softens(count: int, highest: int, gap: float) -> None:
    scores = torch.zeros(count, dtype=torch.float64)
    scores[highest % count] = gap
    before = Softmax()(scores, NOTHING_HIDDEN)
    after = AdaptiveTemperature()(scores, NOTHING_HIDDEN)
    assert after.max() >= before.max() - 1e-12
    assert entropy(after.numpy()) <= entropy(before.numpy()) + 1e-9


def test_low_entropy_is_left_alone_and_high_entropy_is_not() -> None:
    sharp, soft = (torch.tensor([0.0, gap, 0.0, 0.0]).double() for gap in (4.0, 1.0))
    assert entropy(softmax(sharp.numpy())) < 0.5 < entropy(softmax(soft.numpy()))
    adaptive, plain = AdaptiveTemperature(), Softmax()
    assert torch.equal(adaptive(sharp, NOTHING_HIDDEN), plain(sharp, NOTHING_HIDDEN))
    expected, factor = sharpened(soft.numpy())
    assert factor > 1
    assert adaptive(soft, NOTHING_HIDDEN)[1] == pytest.approx(expected[1])
    assert adaptive(soft, NOTHING_HIDDEN)[1] > plain(soft, NOTHING_HIDDEN)[1]


def test_each_query_has_its_own_factor() -> None:
    rows = [numpy.array([0.0, 4.0, 0.0, 0.0]), numpy.array([0.0, 0.3, 0.1, 0.2])]
    together = AdaptiveTemperature()(torch.tensor(numpy.array(rows)), NOTHING_HIDDEN)
    for ours, row in zip(together, rows, strict=True):
        numpy.testing.assert_allclose(ours.numpy(), sharpened(row)[0], rtol=1e-9)


@given(scores_of_a_query, st.data())
def test_hidden_keys_count_for_nothing(scores: numpy.ndarray, data: st.DataObject) -> None:
    hidden = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    hidden[0] = False
    visible = torch.tensor([-torch.inf if hide else 0.0 for hide in hidden], dtype=torch.float64)
    seen = ~numpy.array(hidden)
    ours = AdaptiveTemperature()(torch.tensor(scores), visible).numpy()
    numpy.testing.assert_allclose(ours[seen], sharpened(scores[seen])[0], rtol=1e-9, atol=1e-12)
    assert (ours[~seen] == 0).all()
