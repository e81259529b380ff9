"""What each kind of positions does, above all at positions that training never reached."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel, MinimalTransformer
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.learned import Learned, Offset
from lengthwise.remedies.rotary import Rotary, frequencies
from lengthwise.remedies.rotary import turned as turned_by
from lengthwise.remedies.sinusoidal import Sinusoidal
from lengthwise.runs import recipe_for
from lengthwise.runs.table import all_weights
from lengthwise.tasks import Othello, Tokens
from lengthwise.testing._shared import shaken
from lengthwise.training import Hyperparameters

LENGTH = 5
"""Tokens seen in training: positions 0 to LENGTH - 1 are read."""

POSITIONAL = [
    name
    for name in REMEDIES.listed()
    if REMEDIES.get(name).positional and not REMEDIES.get(name).from_run
]


def shape(max_length: int, width: int, tracks: int = 1) -> Shape:
    return Shape(
        width=width, heads=1, head_width=width, value_width=width, layer=0, max_length=max_length,
        max_train_length=max_length, tracks=tracks,
    )  # fmt: skip


def turned(rows: Tensor, ids: Tensor) -> Tensor:
    return turned_by(rows, ids, frequencies(rows.shape[-1] // 2, rows.device))


def trained_vectors(positions: str) -> tuple[Tensor, list[tuple[str, Tensor]]]:
    """Position vectors at the start, and after training: raw, and as EMAs and BEMAs have them."""
    model = GPTModel(layers=1, heads=4, width=16, remedies=(positions,))
    recipe = recipe_for(
        Othello(4), model, max_train_length=LENGTH, batch=16, accumulate=2, steps=20
    )
    every = [
        Hyperparameters(
            seed=seed, weight_decay=1.0, learning_rate=1e-2, embed_dropout=0.1,
            ema_powers=(0.3, 0.9), bias_powers=(0.0, 0.4),
        )
        for seed in range(2)
    ]  # fmt: skip
    trainer = recipe.trainer(every)
    start = trainer.fleet.views()["remedies.0.vectors"].clone()
    trainer.run()
    ends = [
        (weights.kind, trainer.fleet.views(weights.values)["remedies.0.vectors"])
        for weights in all_weights(trainer)
    ]
    assert [kind for kind, _ in ends] == ["raw", "ema", "bema", "bema", "ema", "bema", "bema"]
    return start, ends


def test_learned_vectors_out_of_reach_stay_bit_for_bit_what_they_were() -> None:
    start, ends = trained_vectors("learned")
    for kind, end in ends:
        assert torch.equal(end[:, LENGTH:], start[:, LENGTH:]), kind
        moved = (end[:, :LENGTH] - start[:, :LENGTH]).abs().amax(-1)
        assert (moved > 1e-3).all(), kind


def test_with_offsets_all_vectors_are_trained() -> None:
    start, ends = trained_vectors("offset")
    for kind, end in ends:
        assert ((end - start).abs().amax(-1) > 1e-3).all(), kind


@pytest.mark.parametrize("positions", ["learned", "offset"])
@pytest.mark.parametrize("training", [True, False])
def test_there_is_no_vector_beyond_the_last(positions: str, training: bool) -> None:
    model = GPT(7, 5, Size(1, 2, 8), remedies=(positions,)).train(training)
    assert model(torch.zeros(2, 5, dtype=torch.int64)).shape == (2, 5, 7)
    with pytest.raises(InputError, match=r"^length = 6: expected at most 5, .*$"):
        model(torch.zeros(2, 6, dtype=torch.int64))


@pytest.mark.parametrize("positions", ["learned", "offset"])
def test_ids_decide_which_vector_is_added(positions: str) -> None:
    added = REMEDIES.get(positions)(shape(11, 3)).eval()
    hidden, ids = torch.randn(2, 4, 3), torch.tensor([[3, 1, 1, 10], [0, 0, 7, 2]])
    assert torch.equal(added.embedded(hidden, ids), hidden + added.vectors[ids])


def test_every_track_has_vectors_of_its_own() -> None:
    learned = Learned(shape(11, 3, tracks=2))
    assert learned.vectors.shape == (2, 11, 3)
    hidden, ids = torch.randn(2, 4, 3), torch.randint(11, (2, 4, 2))
    expected = hidden + learned.vectors[0][ids[..., 0]] + learned.vectors[1][ids[..., 1]]
    torch.testing.assert_close(learned.embedded(hidden, ids), expected)


def test_a_random_start_moves_every_track_by_its_own_amount() -> None:
    offset = Offset(shape(20, 3, tracks=2)).train()
    with torch.no_grad():  # what is added says where it stood
        offset.vectors.copy_(
            torch.arange(20.0)[None, :, None] * torch.tensor([1.0, 100.0])[:, None, None]
        )
    ids = torch.stack([torch.arange(5), torch.arange(5) // 2], -1).expand(400, 5, 2)
    added = offset.embedded(torch.zeros(400, 5, 3), ids)[..., 0]
    found = torch.stack([added % 100, added // 100], -1).round().long()
    starts = found[:, 0]
    assert torch.equal(found - starts[:, None], ids)
    assert starts[:, 0].unique().tolist() == list(range(20 - 4))
    assert starts[:, 1].unique().tolist() == list(range(20 - 2))
    assert (starts[:, 0] != starts[:, 1]).any()
    assert torch.equal(offset.eval().embedded(torch.zeros(1, 5, 3), ids[:1])[0, 0], torch.zeros(3))


def test_a_table_may_have_fewer_ids_than_there_are_tokens() -> None:
    ids = torch.arange(12).expand(2, 12) % 4
    for one in (Learned(shape(4, 3)), Offset(shape(4, 3))):
        assert one.embedded(torch.zeros(2, 12, 3), ids).shape == (2, 12, 3)
        with pytest.raises(InputError, match="length = 12: expected at most 4"):
            one.embedded(torch.zeros(2, 12, 3), torch.arange(12))


@given(st.integers(0, 1000), st.integers(0, 300), st.sampled_from([2, 6, 16]))
def test_rotary_scores_depend_on_distances_only(seed: int, shift: int, width: int) -> None:
    torch.manual_seed(seed)
    rotary = Rotary(shape(9, width))
    queries, keys = torch.randn(2, 3, 9, width, dtype=torch.float64)
    ids = torch.randint(0, 50, (9,))

    def scores(query_ids: Tensor, key_ids: Tensor) -> Tensor:
        read = Keys(torch.zeros(()), query_ids, key_ids)
        first, second = rotary.queries_keys(queries, keys, read)
        return first @ second.mT

    moved = scores(ids + shift, ids + shift)
    torch.testing.assert_close(scores(ids, ids), moved, rtol=1e-3, atol=1e-3)
    counted = torch.arange(9)
    farther = (scores(counted, counted + 1) - scores(counted, counted)).abs().amax()
    assert farther > 1e-3, "distances do matter"
    torch.testing.assert_close(turned(queries, ids).norm(dim=-1), queries.norm(dim=-1))


def begins(offset: Offset, count: int, length: int) -> Tensor:
    """Where so many sequences begin, and a check that the rest follow one by one."""
    with torch.no_grad():
        offset.vectors.copy_(torch.arange(offset.max_length).unsqueeze(-1))
        ids = offset.embedded(torch.zeros(count, length, 1), torch.arange(length)).squeeze(-1)
    assert torch.equal(ids, ids[:, :1] + torch.arange(length))
    return ids[:, 0].to(torch.int64)


def test_offsets_are_equally_likely_and_as_far_as_the_length_allows() -> None:
    torch.manual_seed(1)
    observed = torch.bincount(begins(Offset(shape(11, 1)), 7000, 5), minlength=11)
    assert (observed[7:] == 0).all()
    # Chi-squared with 6 degrees of freedom: 28 has a chance of 1e-4.
    assert ((observed[:7] - 1000) ** 2 / 1000).sum() < 28


def test_offsets_are_addressed() -> None:
    first, second, other = (Offset(shape(11, 1)) for _ in range(3))
    second.load_state_dict(first.state_dict())
    drawn = [begins(first, 20, 4) for _ in range(3)]
    assert not torch.equal(drawn[0], drawn[1]), "every pass has offsets of its own"
    for expected in drawn:
        assert torch.equal(begins(second, 20, 4), expected)
    assert not torch.equal(begins(other, 20, 4), drawn[0]), "so has every model"
    second.step.fill_(1)
    assert torch.equal(begins(second, 9, 4), drawn[1][:9]), "a sequence's own place decides"


def test_outside_training_numbers_begin_at_0() -> None:
    offset, learned = Offset(shape(11, 3)).eval(), Learned(shape(11, 3))
    learned.load_state_dict({"vectors": offset.vectors.detach()})
    hidden, ids = torch.randn(4, 6, 3), torch.arange(6)
    assert torch.equal(offset.embedded(hidden, ids), learned.embedded(hidden, ids))
    assert torch.equal(offset.embedded(hidden, ids), hidden + offset.vectors[:6])
    assert int(offset.step) == 0, "only training counts"


def test_given_ids_are_moved_as_a_whole_and_stay_within_the_table() -> None:
    torch.manual_seed(3)
    offset = Offset(shape(11, 1))
    with torch.no_grad():
        offset.vectors.copy_(torch.arange(11).unsqueeze(-1))
    ids = torch.tensor([[4, 0, 2], [1, 9, 9]]).repeat(500, 1)
    moved = offset.embedded(torch.zeros(1000, 3, 1), ids).squeeze(-1).to(torch.int64)
    by = moved - ids
    assert (by == by[:, :1]).all()
    assert set(by[::2, 0].tolist()) == set(range(7))
    assert set(by[1::2, 0].tolist()) == {0, 1}


def test_full_length_leaves_no_room_for_an_offset() -> None:
    assert (begins(Offset(shape(6, 1)), 50, 6) == 0).all()


def last_logits(positions: str, layers: int, order: list[int]) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    model = shaken(GPT(9, 6, Size(layers, 2, 8), remedies=(positions,)).double()).eval()
    tokens = torch.stack([torch.randperm(9)[:6] for _ in range(4)])
    return model(tokens)[:, -1], model(tokens[:, [*order, 5]])[:, -1]


@given(st.permutations(range(5)))
def test_one_layer_without_positions_cannot_tell_the_order_of_what_it_read(
    order: list[int],
) -> None:
    torch.testing.assert_close(*last_logits("none", 1, order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("positions", "layers"), [*((one, 1) for one in [*POSITIONAL, "cope", "fox"]), ("none", 2)]
)
def test_everything_else_can(positions: str, layers: int) -> None:
    # Two layers need no positions for it: the mask shows the first of them how much came before.
    logits, reversed_logits = last_logits(positions, layers, [4, 3, 2, 1, 0])
    assert ((logits - reversed_logits).abs().amax(-1) > 1e-5).all()


@pytest.mark.parametrize("positions", [one for one in POSITIONAL if one != "nape"])
def test_the_minimal_transformer_does_not_leave_positions_out(positions: str) -> None:
    torch.manual_seed(4)
    model = MinimalTransformer(7, 2, key_width=4, remedies=(positions,), max_length=12)
    model = shaken(model.double()).eval()
    tokens = torch.stack([torch.randperm(7)[:6] for _ in range(4)])
    logits = model(tokens)
    torch.testing.assert_close(logits, model._read_sequence(Tokens(tokens)), rtol=1e-9, atol=1e-9)
    order = [4, 3, 2, 1, 0, 5]
    assert (logits[:, -1] - model(tokens[:, order])[:, -1]).abs().max() > 1e-4
    explicit = Tokens(tokens, torch.arange(6).expand(4, 6))
    torch.testing.assert_close(logits, model(explicit), rtol=1e-9, atol=1e-9)
    farther = Tokens(tokens, 2 * torch.arange(6).expand(4, 6))
    assert (logits - model(farther)).abs().max() > 1e-4, "given ids are read"


def test_sinusoids_are_as_large_as_learned_vectors_and_all_different() -> None:
    waves = Sinusoidal(shape(60, 8)).embedded(torch.zeros(1, 60, 8), torch.arange(60))[0]
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
    exact = turned(rows.double(), ids)
    assert turned(rows, ids).dtype == torch.bfloat16
    # Each of two products and their sum is rounded to eight bits.
    assert (turned(rows, ids).double() - exact).abs().max() < 4 * 2**-8 * exact.abs().max()
