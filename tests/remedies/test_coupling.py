"""Positions by what tokens are: Abacus, and coupled ids from a task."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.remedies import Shape
from lengthwise.remedies.abacus import Abacus
from lengthwise.remedies.learned import Offset
from lengthwise.runs import Recipe
from lengthwise.tasks import Batch, Tokens
from lengthwise.testing import RemedyConformance
from lengthwise.testing._shared import Sum, require_alone_as_in_fleet, shaken
from lengthwise.training import Hyperparameters


class TestConformance(RemedyConformance):
    remedies = ("abacus:first=2,digits=3", ("abacus:offset=2", "rotary"), ("fire", "abacus"))


def shape(max_length: int = 9, width: int = 4, tracks: int = 1) -> Shape:
    return Shape(width, 1, width, width, 0, max_length, max_length, tracks)


def slow_places(tokens: list[int], first: int, digits: int) -> list[int]:
    places, place = [], 0
    for token in tokens:
        place = place + 1 if first <= token < first + digits else 0
        places.append(place)
    return places


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 5), st.integers(1, 4))
def test_places_of_digits(tokens: list[int], first: int, digits: int) -> None:
    abacus = Abacus(shape(), first=first, digits=digits)
    expected = slow_places(tokens, first, digits)
    assert abacus.places(torch.tensor([tokens, tokens])).tolist() == [expected, expected]


def test_576_plus_61() -> None:
    plus, equals = 10, 11
    tokens = torch.tensor([[6, 7, 5, plus, 1, 6, equals, 7, 3]])
    abacus = Abacus(shape()).eval()
    places = abacus.places(tokens)
    assert places.tolist() == [[1, 2, 3, 0, 1, 2, 0, 1, 2]]
    added = abacus.numbered(torch.zeros(1, 9, 4), tokens)
    assert torch.equal(added, abacus.vectors[places])


def test_in_training_one_draw_moves_all_digits_of_a_batch() -> None:
    torch.manual_seed(0)
    abacus = Abacus(shape(width=1), offset=6)
    with torch.no_grad():
        abacus.vectors.copy_(torch.arange(len(abacus.vectors)).unsqueeze(-1))
    tokens = torch.tensor([[1, 2, 11, 3, 4], [11, 11, 5, 6, 7]])
    places, moves = abacus.places(tokens), []
    for step in range(300):
        assert int(abacus.step) == step
        found = abacus.numbered(torch.zeros(2, 5, 1), tokens).squeeze(-1)
        moved = (found - places)[places > 0]
        assert (moved == moved[0]).all()
        assert (found[places == 0] == 0).all()
        moves.append(int(moved[0]))
    assert set(moves) == set(range(7))
    again = Abacus(shape(width=1), offset=6)
    again.load_state_dict(abacus.state_dict())
    again.step.fill_(17)
    found = again.numbered(torch.zeros(2, 5, 1), tokens)
    assert int(found[0, 0]) == 1 + moves[17], "a function of key and step"


def test_abacus_refuses_what_it_has_no_vector_for() -> None:
    model = GPT(12, 9, Size(1, 2, 8), remedies=("abacus",))
    with pytest.raises(InputError, match="length = 10: expected at most 9, all that have a vector"):
        model(torch.zeros(1, 10, dtype=torch.int64))
    for text in ("digits=0", "first=-1", "offset=-1"):
        with pytest.raises(InputError, match=f"abacus:{text.split('=')[0]} = "):
            GPT(12, 9, Size(1, 2, 8), remedies=(f"abacus:{text}",))


@dataclass(frozen=True)
class Coupled(Sum):  # type: ignore[misc, valid-type]
    """Sums whose tokens share position ids two by two, out of 7."""

    @property
    def max_position(self) -> int:
        return 7

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        drawn = super().draw(key, length, count)
        ids = torch.arange(length, device=key.device) // 2
        inputs = Tokens(drawn.inputs, ids.expand(drawn.inputs.shape).clone())
        return Batch(inputs, drawn.labels)

    def targets(self, inputs: Tokens) -> Tensor:
        targets: Tensor = super().targets(inputs.tokens)
        return targets


def test_a_table_may_be_shorter_than_an_input_whose_tokens_share_ids() -> None:
    for name in ("learned", "offset"):
        recipe = Recipe(
            task=Coupled(), model=GPTModel(layers=1, heads=2, width=8, remedies=(name,)),
            max_train_length=4, steps=60, batch=8, test_lengths=(8,), test_inputs=8,
        )  # fmt: skip
        trainer = recipe.trainer(
            [Hyperparameters(seed=seed, learning_rate=1e-2) for seed in (0, 1)]
        )
        vectors = trainer.fleet.views()["remedies.0.vectors"].clone()
        assert vectors.shape == (2, 7, 8)
        trainer.run()
        moved = (trainer.fleet.views()["remedies.0.vectors"] - vectors).abs().amax(-1) > 1e-3
        expected = torch.arange(7) < (7 if name == "offset" else 2)
        assert torch.equal(moved, expected.expand(2, 7)), "coupling trains all ids"
        assert list(recipe.measure(trainer.fleet))


def test_coupled_tokens_get_the_same_vector_wherever_they_begin() -> None:
    torch.manual_seed(0)
    offset = Offset(shape(max_length=7))
    ids = torch.tensor([[0, 1, 2, 0, 1, 2]]).repeat(50, 1)
    added = offset.embedded(torch.zeros(50, 6, 4), ids)
    assert torch.equal(added[:, :3], added[:, 3:])
    begins = (offset.vectors.unsqueeze(0) == added[:, :1]).all(-1).int().argmax(-1)
    assert set(begins.tolist()) == {0, 1, 2, 3, 4}


def test_every_track_begins_at_a_place_of_its_own() -> None:
    torch.manual_seed(0)
    offset = Offset(shape(max_length=9, width=1, tracks=2))
    with torch.no_grad():
        offset.vectors.copy_(torch.stack([torch.arange(9), 100 * torch.arange(9)]).unsqueeze(-1))
    ids = torch.tensor([[0, 0], [1, 3], [2, 7]]).expand(200, 3, 2)
    found = offset.embedded(torch.zeros(200, 3, 1), ids).squeeze(-1).long()
    first, second = found % 100, found // 100
    assert torch.equal(first - first[:, :1], ids[..., 0])
    assert torch.equal(second - second[:, :1], ids[..., 1])
    begins = set(zip(first[:, 0].tolist(), second[:, 0].tolist(), strict=True))
    assert begins == {(a, b) for a in range(7) for b in range(2)}
    offset.eval()
    assert torch.equal(
        offset.embedded(torch.zeros(200, 3, 1), ids).long()[..., 0], ids[..., 0] + 100 * ids[..., 1]
    )


def test_tracks_move_alone_as_in_a_fleet() -> None:
    def one(seed: int) -> GPT:
        torch.manual_seed(seed)
        return shaken(GPT(7, 9, Size(1, 2, 8), remedies=("offset",), tracks=2).double()).train()

    tokens, ids = torch.randint(7, (3, 4, 5)), torch.randint(6, (3, 4, 5, 2))
    require_alone_as_in_fleet([one(seed) for seed in range(3)], Tokens(tokens, ids))
