"""Randomized positions: which ids are drawn, when, and what reads them."""

from itertools import combinations

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel, SetReader
from lengthwise.models.blocks import Size
from lengthwise.remedies import Shape
from lengthwise.remedies.randomized import Randomized
from lengthwise.runs import Recipe
from lengthwise.tasks import SetComplement, Tokens
from lengthwise.testing import RemedyConformance
from lengthwise.testing.remedy import calls
from lengthwise.training import Hyperparameters


class TestConformance(RemedyConformance):
    remedies = (
        ("randomized:count=48", "fire"),
        ("randomized:count=64", "alibi"),
        ("randomized", "rotary"),
        ("randomized:count=100", "learned"),
        ("sinusoidal", "randomized:test=counted"),
        ("randomized:count=64", "offset"),
        ("randomized", "kerple", "scalable", "layernorm"),
        ("randomized", "rotary", "blockwise"),
    )


def made(count: int = 2048, **options: object) -> Randomized:
    shape = Shape(8, 1, 8, 8, 0, 5, 5)
    return Randomized(Randomized.reshaped(shape, count=count), count=count, **options)  # type: ignore[arg-type]


def test_all_subsets_are_equally_likely_and_sorted() -> None:
    torch.manual_seed(0)
    randomized = made(6)
    counts = dict.fromkeys(combinations(range(6), 3), 0)
    for _ in range(2000):
        counts[tuple(randomized.ids(torch.arange(3)).tolist())] += 1
    # Chi-squared with 19 degrees of freedom: 50 has a chance of 1e-4.
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 50


def test_the_range_is_reached() -> None:
    drawn = torch.cat([made().ids(torch.arange(40)) for _ in range(20)])
    assert drawn.min() < 20
    assert 2028 <= drawn.max() < 2048


def test_draws_are_addressed() -> None:
    first, second, other = (made() for _ in range(3))
    second.load_state_dict(first.state_dict())
    places = torch.arange(9)
    drawn = [first.ids(places) for _ in range(3)]
    assert not torch.equal(drawn[0], drawn[1]), "every pass has its own"
    for expected in drawn:
        assert torch.equal(second.ids(places), expected)
    assert not torch.equal(other.ids(places), drawn[0]), "so has every model"
    second.step.fill_(1)
    assert torch.equal(second.ids(places), drawn[1])


def test_at_test_a_length_has_one_draw_and_training_goes_on_as_before() -> None:
    randomized = made()
    first = randomized.ids(torch.arange(9))
    randomized.eval()
    tested = randomized.ids(torch.arange(9))
    assert torch.equal(tested, randomized.ids(torch.arange(9)))
    assert not torch.equal(tested, first)
    assert not torch.equal(tested[:8], randomized.ids(torch.arange(8))), "another for each length"
    assert int(randomized.step) == 1, "tests are not counted"
    assert torch.equal(made(test="counted").eval().ids(torch.arange(9)), torch.arange(9))


def test_one_draw_for_all_layers_and_sequences() -> None:
    model = GPT(7, 9, Size(3, 2, 16), remedies=("randomized", "alibi")).train()
    seen = [read.key_ids for *_, read in calls(model, torch.randint(7, (4, 9)))]
    assert len(seen) == 3
    assert all(ids is not None and torch.equal(ids, seen[0]) for ids in seen)
    assert seen[0] is not None
    assert seen[0].shape == (9,)


def test_learned_positions_have_a_vector_for_every_id() -> None:
    for order in (("randomized:count=30", "learned"), ("learned", "randomized:count=30")):
        model = GPT(7, 9, Size(1, 2, 16), remedies=order)
        vectors = dict(model.named_parameters())[f"remedies.{order.index('learned')}.vectors"]
        assert vectors.shape == (30, 16)
        with pytest.raises(InputError, match=r"length = 31: expected at most randomized:count = 3"):
            model(torch.zeros(1, 31, dtype=torch.int64))


@pytest.mark.parametrize(
    ("remedies", "message"),
    [
        (("randomized",), "remedy = 'randomized': expected another one beside it that reads pos"),
        (("randomized", "fox"), "'randomized': expected another one beside it that reads position"),
        (("randomized", "randomized", "alibi"), "both replace the position ids"),
        (("randomized:count=8", "alibi"), "randomized:count = 8: expected at least 9, as many ids"),
        (("randomized:test=no", "alibi"), "randomized:test = 'no'"),
    ],
)
def test_what_does_not_fit_is_named(remedies: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GPT(7, 9, Size(1, 2, 16), remedies=remedies)


def test_ids_of_a_task_are_refused() -> None:
    model = GPT(7, 9, Size(1, 2, 16), remedies=("randomized", "alibi"))
    tokens = torch.randint(7, (2, 9))
    with pytest.raises(InputError, match=r"position_ids = 'of shape \(2, 9\)': expected none from"):
        model(Tokens(tokens, torch.arange(9).expand(2, 9)))
    with pytest.raises(InputError, match="randomized"):
        SetReader(3, 2, 4, remedies=("randomized",))


def test_prefixes_are_measured_as_inputs_of_their_own() -> None:
    """Inside a longer input they would have ids of that length."""
    recipe = Recipe(
        task=SetComplement(9), model=GPTModel(layers=1, heads=2, width=16,
        remedies=("randomized:count=50", "alibi")), max_train_length=3, steps=2, batch=4,
        test_lengths=(5, 8), test_inputs=16,
    )  # fmt: skip
    fleet = recipe.fleet([Hyperparameters(seed=1)])
    both = {one.length: one.values for one in recipe.measure(fleet) if one.measure == "kl"}
    alone = Recipe(**{**vars(recipe), "test_lengths": (5,)})
    (short,) = [one.values for one in alone.measure(fleet) if one.measure == "kl"]
    assert torch.equal(both[5], short)
