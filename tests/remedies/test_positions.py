"""What each kind of positions does, above all at positions that training never reached."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import GPT
from lengthwise.models.gpt import Size
from lengthwise.remedies.positions import (
    ADDED,
    LearnedPositions,
    OffsetPositions,
    RotaryPositions,
    SinusoidalPositions,
)
from lengthwise.runs import OthelloRecipe
from lengthwise.runs.table import all_weights
from lengthwise.training import Fleet, Hyperparameters

MOVES = 6
"""Moves seen in training: positions 0 to MOVES - 2 are read."""


def trained_vectors(positions: str) -> tuple[Tensor, list[tuple[str, Tensor]]]:
    """Position vectors at the start, and after training: raw, and as EMAs and BEMAs have them."""
    recipe = OthelloRecipe(
        board=4, train_moves=MOVES, size="tiny", layers=1, width=16, positions=positions,
        batch=16, accumulate=2, steps=20,
    )  # fmt: skip
    members = [
        Hyperparameters(
            seed=seed, weight_decay=1.0, learning_rate=1e-2, dropout_embedding=0.1,
            ema_powers=(0.3, 0.9), bias_powers=(0.0, 0.4),
        )
        for seed in range(2)
    ]  # fmt: skip
    trainer = recipe.trainer(members)
    start = trainer.fleet.views()["positions.vectors"].clone()
    for _ in range(recipe.steps):
        trainer.advance()
    ends = [
        (weights.kind, trainer.fleet.views(weights.values)["positions.vectors"])
        for weights in all_weights(trainer, members)
    ]
    assert [kind for kind, _ in ends] == ["raw", "ema", "bema", "bema", "ema", "bema", "bema"]
    return start, ends


def test_learned_vectors_out_of_reach_stay_bit_for_bit_what_they_were() -> None:
    start, ends = trained_vectors("learned")
    for kind, end in ends:
        assert torch.equal(end[:, MOVES - 1 :], start[:, MOVES - 1 :]), kind
        moved = (end[:, : MOVES - 1] - start[:, : MOVES - 1]).abs().amax(-1)
        assert (moved > 1e-3).all(), kind


def test_with_offsets_all_vectors_are_trained() -> None:
    start, ends = trained_vectors("offset")
    for kind, end in ends:
        assert ((end - start).abs().amax(-1) > 1e-3).all(), kind


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary"])
def test_what_learns_no_vectors_reads_any_length(positions: str) -> None:
    torch.manual_seed(0)
    model = GPT(7, 5, Size(2, 2, 8), positions=positions).double().eval()
    assert not [name for name, _ in model.named_parameters() if "positions" in name]
    tokens = torch.randint(7, (3, 200))
    logits = model(tokens)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[:, :5], model(tokens[:, :5]))


@pytest.mark.parametrize("positions", ["learned", "offset"])
@pytest.mark.parametrize("training", [True, False])
def test_there_is_no_vector_beyond_the_last(positions: str, training: bool) -> None:
    model = GPT(7, 5, Size(1, 2, 8), positions=positions).train(training)
    assert model(torch.zeros(2, 5, dtype=torch.int64)).shape == (2, 5, 7)
    with pytest.raises(InputError, match=r"^length = 6: expected at most 5, .*$"):
        model(torch.zeros(2, 6, dtype=torch.int64))


@given(st.integers(0, 1000), st.integers(0, 300), st.sampled_from([2, 6, 16]))
def test_rotary_scores_depend_on_distances_only(seed: int, shift: int, width: int) -> None:
    torch.manual_seed(seed)
    rotary = RotaryPositions(width)
    queries, keys = torch.randn(2, 3, 9, width, dtype=torch.float64)
    ids = torch.randint(0, 50, (9,))

    def scores(query_ids: Tensor | None, key_ids: Tensor | None) -> Tensor:
        turned, others = rotary(queries, keys, query_ids, key_ids)
        return turned @ others.transpose(-1, -2)

    torch.testing.assert_close(
        scores(ids, ids), scores(ids + shift, ids + shift), rtol=1e-3, atol=1e-3
    )
    counted = torch.arange(9)
    torch.testing.assert_close(scores(None, None), scores(counted, counted))
    farther = (scores(counted, counted + 1) - scores(None, None)).abs().amax()
    assert farther > 1e-3, "distances do matter"
    torch.testing.assert_close(
        rotary(queries, keys, ids, ids)[0].norm(dim=-1), queries.norm(dim=-1)
    )


def begins(positions: OffsetPositions, count: int, length: int) -> Tensor:
    """Where so many sequences begin, and a check that the rest follow one by one."""
    with torch.no_grad():
        positions.vectors.copy_(torch.arange(positions.most).unsqueeze(-1))
        ids = positions(torch.zeros(count, length, 1)).squeeze(-1)
    assert torch.equal(ids, ids[:, :1] + torch.arange(length))
    return ids[:, 0].to(torch.int64)


def test_offsets_are_equally_likely_and_as_far_as_the_length_allows() -> None:
    torch.manual_seed(1)
    observed = torch.bincount(begins(OffsetPositions(11, 1), 7000, 5), minlength=11)
    assert (observed[7:] == 0).all()
    # Chi-squared with 6 degrees of freedom: 28 has a chance of 1e-4.
    assert ((observed[:7] - 1000) ** 2 / 1000).sum() < 28


def test_offsets_are_addressed() -> None:
    first, second, other = (OffsetPositions(11, 1) for _ in range(3))
    second.load_state_dict(first.state_dict())
    drawn = [begins(first, 20, 4) for _ in range(3)]
    assert not torch.equal(drawn[0], drawn[1]), "every pass has offsets of its own"
    for expected in drawn:
        assert torch.equal(begins(second, 20, 4), expected)
    assert not torch.equal(begins(other, 20, 4), drawn[0]), "so has every model"
    second.step.fill_(1)
    assert torch.equal(begins(second, 9, 4), drawn[1][:9]), "a sequence's own place decides"


def test_offsets_are_the_same_in_a_fleet() -> None:
    models = [OffsetPositions(11, 1) for _ in range(3)]
    fleet = Fleet(models)
    for _ in range(3):
        together = fleet.forward(torch.zeros(3, 8, 4, 1))
        for index, model in enumerate(models):
            assert torch.equal(together[index], model(torch.zeros(8, 4, 1)))


def test_outside_training_numbers_begin_at_0() -> None:
    offset, learned = OffsetPositions(11, 3).eval(), LearnedPositions(11, 3)
    learned.load_state_dict({"vectors": offset.vectors.detach()})
    hidden = torch.randn(4, 6, 3)
    assert torch.equal(offset(hidden), learned(hidden))
    assert torch.equal(offset(hidden), hidden + offset.vectors[:6])
    assert int(offset.step) == 0, "only training counts"


def test_full_length_leaves_no_room_for_an_offset() -> None:
    assert (begins(OffsetPositions(6, 1), 50, 6) == 0).all()


def last_logits(positions: str, layers: int, order: list[int]) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    model = GPT(9, 6, Size(layers, 2, 8), positions=positions).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    tokens = torch.stack([torch.randperm(9)[:6] for _ in range(4)])
    return model(tokens)[:, -1], model(tokens[:, [*order, 5]])[:, -1]


@given(st.permutations(range(5)))
def test_one_layer_without_positions_cannot_tell_the_order_of_what_it_read(
    order: list[int],
) -> None:
    torch.testing.assert_close(*last_logits("none", 1, order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("positions", "layers"), [*((kind, 1) for kind in ADDED if kind != "none"), ("none", 2)]
)
def test_everything_else_can(positions: str, layers: int) -> None:
    # Two layers need no positions for it: the mask shows the first of them how much came before.
    logits, reversed_logits = last_logits(positions, layers, [4, 3, 2, 1, 0])
    assert ((logits - reversed_logits).abs().amax(-1) > 1e-4).all()


def test_sinusoids_are_as_large_as_learned_vectors_and_all_different() -> None:
    waves = SinusoidalPositions(8)(torch.zeros(1, 60, 8))[0]
    torch.testing.assert_close(waves.square().mean(-1).sqrt(), torch.full((60,), 0.02))
    distances = torch.cdist(waves, waves) + torch.eye(60)
    assert (distances > 1e-3).all()
    for position in (0, 1, 17):
        for pair in range(4):
            angle = torch.tensor(position / 10_000 ** (pair / 4))
            expected = torch.stack([angle.sin(), angle.cos()]) * 0.02 * 2**0.5
            torch.testing.assert_close(waves[position, [pair, pair + 4]], expected)


def test_half_precision_does_not_round_the_angles() -> None:
    """Far positions turn as exactly as near ones: only the vectors themselves are rounded."""
    torch.manual_seed(0)
    rows = torch.randn(60, 16).bfloat16()
    ids = torch.arange(0, 6000, 100)
    turned, _ = RotaryPositions(16)(rows, rows, ids, ids)
    exact, _ = RotaryPositions(16)(rows.double(), rows.double(), ids, ids)
    assert turned.dtype == torch.bfloat16
    # Each of two products and their sum is rounded to eight bits.
    assert (turned.double() - exact).abs().max() < 4 * 2**-8 * exact.abs().max()
