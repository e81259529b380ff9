"""xPos, scaled rotary positions and blockwise attention: public code, laws and traps."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from lengthwise.errors import InputError
from lengthwise.models import GPT, GPTModel
from lengthwise.models.blocks import Size
from lengthwise.registry import REMEDIES
from lengthwise.remedies import Keys, Remedy, Shape
from lengthwise.runs import Recipe
from lengthwise.tasks import Tokens
from lengthwise.testing._shared import Sum, shaken
from lengthwise.testing.remedy import calls
from lengthwise.training import Hyperparameters

x_transformers = pytest.importorskip("x_transformers.x_transformers")

TRAINED = 16


def made(name: str, width: int = 16, trained: int = TRAINED, **options: object) -> Remedy:
    shape = Shape(width, 1, width, width, 0, 4 * trained, trained)
    one: Remedy = REMEDIES.get(name)(shape, **options)
    return one


def products(one: Remedy, queries: Tensor, keys: Tensor, ids: Tensor) -> Tensor:
    first, second = one.queries_keys(queries, keys, Keys(torch.zeros(()), ids, ids))
    return first @ second.mT


def interleaved(rows: Tensor) -> Tensor:
    """Features of both halves as neighbours, which is where x-transformers has pairs."""
    return rows.unflatten(-1, (2, -1)).mT.flatten(-2)


@pytest.mark.parametrize("name", ["rotary", "xpos"])
def test_scores_are_those_of_x_transformers(name: str) -> None:
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 3, 2, 300, 16)
    theirs = x_transformers.RotaryEmbedding(16, use_xpos=name == "xpos")
    turns, scale = theirs.forward_from_seq_len(300)
    inverse = scale**-1 if name == "xpos" else 1.0
    first = x_transformers.apply_rotary_pos_emb(interleaved(queries), turns, scale)
    second = x_transformers.apply_rotary_pos_emb(interleaved(keys), turns, inverse)
    ours = products(made(name), queries, keys, torch.arange(300))
    torch.testing.assert_close(ours, first @ second.mT, rtol=1e-4, atol=1e-4)


def slow_xpos(query: Tensor, key: Tensor, distance: int) -> float:
    """Pair by pair: the product of complex numbers, turned and decayed by the distance."""
    pairs = len(query) // 2
    total = 0.0
    for i in range(pairs):
        decay = ((2 * i / len(query) + 0.4) / 1.4) ** (distance / 512)
        one = complex(query[i], query[i + pairs])
        other = complex(key[i], key[i + pairs])
        angle = distance / 10_000 ** (i / pairs)
        turn = complex(math.cos(angle), math.sin(angle))
        total += decay * (one * turn * other.conjugate()).real
    return total


@given(st.integers(0, 1000), st.sampled_from([2, 4, 10]), st.integers(0, 2000))
def test_xpos_depends_on_distances_only(seed: int, width: int, shift: int) -> None:
    """And both features of a pair decay alike: public code has mixed them up."""
    torch.manual_seed(seed)
    queries, keys = torch.randn(2, 5, width).double()
    ids = torch.randint(0, 900, (5,))
    scores = products(made("xpos", width), queries, keys, ids)
    moved = products(made("xpos", width), queries, keys, ids + shift)
    torch.testing.assert_close(scores, moved, rtol=1e-3, atol=1e-3)
    for n in range(5):
        for m in range(5):
            expected = slow_xpos(queries[n], keys[m], int(ids[n] - ids[m]))
            assert scores[n, m].item() == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_where_xpos_overflows() -> None:
    """Factors are centred; scores of hidden keys overflow first, and such lengths are refused."""
    ones = torch.ones(1, 2, 16)
    for length, factor in ((1024, 3.5), (4096, 150), (8192, 2.3e4)):
        ends = torch.tensor([0, length])
        read = Keys(torch.zeros(()), ends, ends)
        queries, _ = made("xpos").queries_keys(ones, ones, read)
        assert queries.abs().max().item() == pytest.approx(factor, rel=0.5)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        xpos = made("xpos")
        most = xpos.most(dtype)
        assert (
            products(xpos, ones.to(dtype), ones.to(dtype), torch.tensor([0, most])).isfinite().all()
        )
        # Far beyond that they do not fit.
        twice = torch.tensor([0, 2 * most + 6000])
        assert not products(xpos, ones.to(dtype), ones.to(dtype), twice).isfinite().all()
    long = torch.zeros(1, 800, 16, dtype=torch.float16)
    with pytest.raises(InputError, match="length = 800: expected at most 768 for xpos in"):
        products(made("xpos"), long, long, torch.arange(800))


def theirs_of(kind: str, width: int, trained: int, length: int, **settings: float) -> tuple:
    config = LlamaConfig(
        hidden_size=width, num_attention_heads=1, max_position_embeddings=trained,
        rope_parameters={
            "rope_type": kind, "rope_theta": 10_000.0,
            "original_max_position_embeddings": trained, **settings,
        },
    )  # fmt: skip
    return ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)


@pytest.mark.parametrize(
    ("name", "kind"), [("interpolated", "linear"), ("dynamic-ntk", "dynamic"), ("yarn", "yarn")]
)
@given(
    st.sampled_from([4, 16, 64, 128]),
    st.sampled_from([7, 10, 100, 512, 2048]),
    st.sampled_from([1.0, 1.5, 4.0, 32.0]),
    st.sampled_from([5, 100, 3000]),
)
def test_frequencies_are_those_of_transformers(
    name: str, kind: str, width: int, trained: int, factor: float, length: int
) -> None:
    theirs, stretch = theirs_of(kind, width, trained, length, factor=factor)
    one = made(name, width, trained, factor=factor)
    ours = one.frequencies(width // 2, torch.arange(length)).flatten()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
    rows = torch.randn(2, 1, width)
    read = Keys(torch.zeros(()), torch.zeros(1), torch.zeros(1))
    for row in one.queries_keys(rows[:1], rows[:1], read):
        torch.testing.assert_close(row, rows[:1] * stretch)


@pytest.mark.parametrize("settings", [{"fast": 8.0, "slow": 2.0}, {"fast": 100.0, "slow": 0.5}])
def test_yarn_at_other_edges(settings: dict[str, float]) -> None:
    theirs, _ = theirs_of(
        "yarn", 64, 1000, 1000, factor=6.0, beta_fast=settings["fast"], beta_slow=settings["slow"]
    )
    ours = made("yarn", 64, 1000, factor=6.0, **settings).frequencies(32, torch.arange(3))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["interpolated", "dynamic-ntk", "yarn"])
def test_the_factor_is_by_default_that_of_the_longest_input(name: str) -> None:
    ids = torch.arange(50)
    assert torch.equal(made(name).frequencies(8, ids), made(name, factor=4.0).frequencies(8, ids))
    short = torch.arange(TRAINED)
    same = torch.equal(
        made(name).frequencies(8, short).flatten(), made("rotary").frequencies(8, short)
    )
    assert same == (name == "dynamic-ntk"), "which alone leaves inputs of training as they were"
    with pytest.raises(InputError, match=f"{name}:factor = 0.5: expected at least 1, or auto"):
        made(name, factor=0.5)


def test_every_sequence_has_its_own_length_for_dynamic_ntk() -> None:
    ids = torch.stack([torch.arange(20), torch.arange(20) * 3])
    together = made("dynamic-ntk").frequencies(8, ids)
    for row in range(2):
        assert torch.equal(together[row], made("dynamic-ntk").frequencies(8, ids[row]))
    assert not torch.equal(together[0], together[1])


TASK = Sum(7)


def recipe(*test_remedies: str, remedies: tuple[str, ...] = ("rotary",)) -> Recipe:
    return Recipe(
        task=TASK, model=GPTModel(layers=1, heads=2, width=16, remedies=remedies),
        max_train_length=3, steps=2, batch=4, test_lengths=(3, 8), test_inputs=8,
        test_remedies=test_remedies,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["interpolated", "dynamic-ntk", "yarn:factor=3"])
def test_a_trained_rotary_model_is_measured_with_other_frequencies(name: str) -> None:
    trainer = recipe(name, remedies=("scalable", "rotary")).trainer([Hyperparameters()])
    trainer.run()
    found = {
        (one.measure, one.length): one.values
        for one in recipe(name, remedies=("scalable", "rotary")).measure(trainer.fleet)
    }
    other = recipe(remedies=("scalable", name)).fleet([Hyperparameters()])
    other.weights.copy_(trainer.fleet.weights)
    suffix = name.split(":")[0]
    for one in recipe(remedies=("scalable", name)).measure(other):
        assert torch.equal(found[f"{one.measure}_{suffix}", one.length], one.values)
    assert not torch.equal(found["tvd", 8], found[f"tvd_{suffix}", 8])


def test_what_is_scaled_must_be_there() -> None:
    for remedies in (("learned",), ("xpos",)):
        with pytest.raises(InputError, match="test_remedies = 'yarn': expected one for a model wi"):
            recipe("yarn", remedies=remedies)
    with pytest.raises(InputError, match="'rotary' and 'yarn': both replace the turning"):
        recipe(remedies=("rotary", "yarn"))
    with pytest.raises(InputError, match="width of a head = 2: expected at least 4, for dynamic"):
        GPT(7, 9, Size(1, 2, 4), remedies=("dynamic-ntk",))
    for name in ("rotary", "xpos", "yarn"):
        with pytest.raises(InputError, match=f"width of a head = 3: expected even, for {name} pos"):
            GPT(7, 9, Size(1, 2, 6), remedies=(name,))


@given(st.integers(1, 20), st.integers(1, 80))
def test_blockwise_attention_sees_half_the_training_length_to_all_of_it(
    trained: int, length: int
) -> None:
    half = (trained + 1) // 2
    hidden = torch.full((length, length), -torch.inf).triu(1)
    visible = made("blockwise", trained=trained).visible(Keys(hidden))
    for n in range(length):
        for m in range(n + 1):
            assert bool(visible[n, m]) == (m // half >= n // half - 1)
    seen = (visible & (hidden == 0)).sum(-1)
    if length > half:
        assert half + 1 <= seen[half:].min()
        assert seen.max() <= 2 * half
    assert (seen[:trained] == torch.arange(1, length + 1)[:trained]).all(), "training is as before"


def test_blockwise_attention_counts_no_padding() -> None:
    torch.manual_seed(0)
    model = GPT(7, 30, Size(2, 2, 16), remedies=("rotary", "blockwise"), max_train_length=8)
    model = shaken(model.double()).eval()
    tokens, ids = torch.randint(7, (2, 30)), torch.arange(30).expand(2, 30)
    mask = torch.ones(2, 30, dtype=torch.bool)
    mask[1, :5] = mask[1, 12:15] = False
    kept = mask[1]
    alone = model(Tokens(tokens[1:, kept], ids[1:, kept]))
    torch.testing.assert_close(model(Tokens(tokens, ids, mask))[1:, kept], alone)


def test_blockwise_attention_is_for_tests_of_a_trained_model() -> None:
    trainer = recipe("blockwise").trainer([Hyperparameters()])
    trainer.run()
    found = {
        (one.measure, one.length): one.values for one in recipe("blockwise").measure(trainer.fleet)
    }
    assert torch.equal(found["tvd", 3], found["tvd_blockwise", 3])
    assert not torch.equal(found["tvd", 8], found["tvd_blockwise", 8])
    with pytest.raises(InputError, match="both replace which keys are seen"):
        recipe(remedies=("blockwise", "blockwise"))


def test_hidden_keys_have_no_weight_in_any_layer() -> None:
    torch.manual_seed(0)
    model = GPT(7, 40, Size(2, 2, 16), remedies=("xpos", "blockwise"), max_train_length=8).eval()
    for attention, x, context, read in calls(model, torch.randint(7, (2, 40))):
        assert not read.causal
        weights = attention.weights(
            attention.scores(attention.products(x, context, read), read), read
        )
        assert ((weights > 0).sum(-1) <= 8).all()
        near, far = x.clone(), x.clone()
        far[:, :24] = torch.randn_like(far[:, :24])
        read = replace(read, x=None, context=None)
        outputs = [attention(rows, rows, read)[:, 28:] for rows in (near, far)]
        torch.testing.assert_close(*outputs)
