import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.models import MinimalTransformer
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.adaptive import Adaptive
from lengthwise.tasks import Tokens
from lengthwise.testing._shared import shaken

POLYNOMIAL = [-0.037, 0.481, -2.3, 4.917, -1.791]
NOTHING_HIDDEN = torch.zeros((), dtype=torch.float64)
SHAPE = Shape(
    width=6, heads=1, head_width=6, value_width=6, layer=0, max_length=9, max_train_length=9
)


def adaptive(scores: torch.Tensor, log_count: torch.Tensor = NOTHING_HIDDEN) -> torch.Tensor:
    return Adaptive(SHAPE).weights(scores, Keys(log_count))


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
    ours = adaptive(torch.tensor(scores)).numpy()
    expected, _ = sharpened(scores)
    numpy.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(1, 30), st.integers(0, 29), st.floats(0, 5))
def test_it_never_softens(count: int, highest: int, ahead: float) -> None:
    scores = torch.zeros(count, dtype=torch.float64)
    scores[highest % count] = ahead
    before = scores.softmax(-1)
    after = adaptive(scores)
    assert after.max() >= before.max() - 1e-12
    assert entropy(after.numpy()) <= entropy(before.numpy()) + 1e-9


def test_low_entropy_is_left_alone_and_high_entropy_is_not() -> None:
    sharp, soft = (torch.tensor([0.0, ahead, 0.0, 0.0]).double() for ahead in (4.0, 1.0))
    assert entropy(softmax(sharp.numpy())) < 0.5 < entropy(softmax(soft.numpy()))
    assert torch.equal(adaptive(sharp), sharp.softmax(-1))
    expected, factor = sharpened(soft.numpy())
    assert factor > 1
    assert adaptive(soft)[1] == pytest.approx(expected[1])
    assert adaptive(soft)[1] > soft.softmax(-1)[1]


def test_each_query_has_its_own_factor() -> None:
    rows = [numpy.array([0.0, 4.0, 0.0, 0.0]), numpy.array([0.0, 0.3, 0.1, 0.2])]
    together = adaptive(torch.tensor(numpy.array(rows)))
    for ours, row in zip(together, rows, strict=True):
        numpy.testing.assert_allclose(ours.numpy(), sharpened(row)[0], rtol=1e-9)


@given(scores_of_a_query, st.data())
def test_hidden_keys_count_for_nothing(scores: numpy.ndarray, data: st.DataObject) -> None:
    hidden = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    hidden[0] = False
    log_count = torch.tensor([-torch.inf if hide else 0.0 for hide in hidden], dtype=torch.float64)
    seen = ~numpy.array(hidden)
    ours = adaptive(torch.tensor(scores), log_count).numpy()
    numpy.testing.assert_allclose(ours[seen], sharpened(scores[seen])[0], rtol=1e-9, atol=1e-12)
    assert (ours[~seen] == 0).all()


def test_repeated_tokens_in_the_minimal_transformer() -> None:
    """The entropy is over keys as they stand: a token that is read once with its count has less."""
    torch.manual_seed(0)
    model = shaken(MinimalTransformer(5, 2, remedies=("adaptive",)).double(), 1.0).eval()
    tokens = torch.randint(5, (20, 12))
    logits = model(tokens)
    torch.testing.assert_close(logits, model._read_sequence(Tokens(tokens)), rtol=1e-9, atol=1e-9)
    assert (logits - model._read_vocabulary(tokens)).abs().max() > 1e-3, "the short way is another"
