"""Differential attention: the second version, traps of public code, and its law of lambda."""

import math

import numpy
import pytest
import torch
from torch import Tensor
from weight_tools import everything, made, numbers, share_of_first

from lengthwise.models import GPT, Attention, MinimalTransformer, SetReader
from lengthwise.models.blocks import Size
from lengthwise.testing._shared import shaken
from lengthwise.testing.remedy import calls
from lengthwise.theory.tables import read_tables

HEADS, WIDTH, LENGTH, VOCAB = 2, 12, 7, 9


def model(name: str) -> GPT:
    torch.manual_seed(0)
    gpt = GPT(VOCAB, LENGTH, Size(2, HEADS, WIDTH), remedies=(name,))
    return shaken(gpt.double()).eval()


def projected(linear: torch.nn.Linear, x: Tensor) -> numpy.ndarray:
    return linear(x).detach().numpy()


def expected_second_version(attention: Attention, x: Tensor) -> numpy.ndarray:
    """One sequence, head by head and query by query."""
    one = attention.remedies[0]
    width = WIDTH // HEADS
    first, second = projected(attention.query, x), projected(one.second, x)
    keys, values = projected(attention.key, x), projected(attention.value, x)
    gates = projected(one.gate, x)
    mixed = numpy.zeros((LENGTH, WIDTH))
    for head in range(HEADS):
        part = slice(head * width, (head + 1) * width)
        for place in range(LENGTH):
            maps = []
            for queries in (first, second):
                scores = keys[: place + 1, part] @ queries[place, part] / math.sqrt(width)
                weights = numpy.exp(scores - scores.max())
                maps.append(weights / weights.sum())
            share = 1 / (1 + math.exp(-gates[place, head]))
            mixed[place, part] = (maps[0] - share * maps[1]) @ values[: place + 1, part]
    return projected(attention.output, torch.tensor(mixed))


def test_the_second_version() -> None:
    tokens = torch.randint(VOCAB, (2, LENGTH))
    for attention, x, context, read in calls(model("differential-v2"), tokens):
        found = attention(x, context, read).detach().numpy()
        for row in range(2):
            theirs = expected_second_version(attention, x[row])
            numpy.testing.assert_allclose(found[row], theirs, rtol=1e-9, atol=1e-10)


def test_the_second_version_doubles_queries_and_nothing_else() -> None:
    plain, doubled = model("none"), model("differential-v2")
    sizes = {name: p.shape for name, p in plain.named_parameters()}
    more = {name: p.shape for name, p in doubled.named_parameters() if name not in sizes}
    assert all(p.shape == sizes[name] for name, p in doubled.named_parameters() if name in sizes)
    assert sorted(set(more.values())) == [(HEADS, WIDTH), (WIDTH, WIDTH)], "a gate, second queries"


@torch.no_grad()
def test_each_map_of_the_first_version_has_a_key_of_its_own() -> None:
    """Public code that repeats keys for groups of queries gives both maps of a head the same."""
    attention = model("differential").blocks[0].attention
    x = numbers(5, WIDTH)
    width = WIDTH // (2 * HEADS)
    read = everything(5, 5)
    before = attention.products(x, x, read)
    for number in range(2 * HEADS):
        kept = attention.key.weight.clone()
        attention.key.weight[number * width : (number + 1) * width] *= 2
        changed = (attention.products(x, x, read) - before).abs().amax((-1, -2)) > 1e-9
        assert changed.nonzero().flatten().tolist() == [number]
        attention.key.weight.copy_(kept)


@torch.no_grad()
def test_both_maps_of_a_head_in_the_second_version_read_its_key_and_no_other() -> None:
    """Repeating all keys in turn would give maps 2i and 2i + 1 keys of different heads."""
    attention = model("differential-v2").blocks[0].attention
    x, width, read = numbers(5, WIDTH), WIDTH // HEADS, everything(5, 5)
    before = attention.products(x, x, read)
    for head in range(HEADS):
        kept = attention.key.weight.clone()
        attention.key.weight[head * width : (head + 1) * width] *= 2
        changed = (attention.products(x, x, read) - before).abs().amax((-1, -2)) > 1e-9
        assert changed.nonzero().flatten().tolist() == [2 * head, 2 * head + 1]
        attention.key.weight.copy_(kept)


def test_sets_are_read_by_the_second_version_too() -> None:
    torch.manual_seed(0)
    reader = SetReader(3, 2, 4, width=8, heads=1, remedies=("differential-v2",))
    assert reader.attention.maps == 2
    assert not reader.attention.stochastic


def weights_with(share: float, first: Tensor, second: Tensor) -> Tensor:
    """The weights of one head whose lambda is `share`."""
    one = made("differential")
    with torch.no_grad():
        one.vectors.zero_()
        one.start = share
    maps = torch.stack([first, second], -3).softmax(-1)
    return one.combined(maps.unsqueeze(-4), everything(first.shape[-1])).detach()


def test_the_best_lambda_grows_with_the_number_of_keys() -> None:
    """Both maps have the same noise, the first a key that is ahead by 4."""
    best = []
    for length in (16, 256, 4096):
        noise = numbers(200, 1, length)
        target = noise.clone()
        target[..., 0] += 4.0
        shares = {
            share: share_of_first(weights_with(share, target, noise))
            for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        }
        best.append(max(shares, key=shares.__getitem__))
        assert shares[best[-1]] > 0.9
    assert best == sorted(best)
    assert best[0] < best[-1] == 1.0


@torch.no_grad()
def test_at_long_inputs_the_norm_of_heads_no_longer_restores_them() -> None:
    """Values as a GPT of width 64 starts with: once the mean square nears 1e-5, eps is seen."""
    one = made("differential", 1, 64)
    sizes = {}
    for length in (64, 8192):
        scores = numbers(8, 1, length, 2, seed=1).unbind(-1)
        values = numbers(length, 64, seed=2, scale=0.02 * math.sqrt(64))
        mixed = weights_with(0.2, scores[0], scores[1]).squeeze(-2) @ values
        sizes[length] = float(one.norm(mixed).square().mean().sqrt())
    assert sizes[64] > 0.99
    assert sizes[8192] < 0.8


@pytest.mark.parametrize("layer", [0, 1, 5])
def test_lambda_starts_lower_in_the_first_layers(layer: int) -> None:
    assert made("differential", 1, 4, layer).start == pytest.approx(
        0.8 - 0.6 * math.exp(-0.3 * layer)
    )


def test_theory_does_not_take_combined_maps_for_one() -> None:
    torch.manual_seed(0)
    for name in ("differential", "differential-v2"):
        assert not read_tables(MinimalTransformer(7, 2, remedies=(name,))).linear


def test_without_its_norm_a_head_keeps_its_size_and_has_fewer_weights() -> None:
    plain, bare = model("differential"), model("differential:norm=none")
    names = {name for name, _ in plain.named_parameters()}
    left = names - {name for name, _ in bare.named_parameters()}
    assert {name.split("remedies.0.")[1] for name in left} == {"norm.weight"}
    one = bare.blocks[0].attention.remedies[0]
    heads = torch.randn(3, LENGTH, HEADS, WIDTH // HEADS, dtype=torch.float64)
    torch.testing.assert_close(one.mixed(heads), heads * 0.8)
    torch.testing.assert_close(one.mixed(5 * heads), 5 * one.mixed(heads))
    normed = plain.blocks[0].attention.remedies[0]
    torch.testing.assert_close(normed.mixed(5 * heads), normed.mixed(heads), rtol=1e-4, atol=1e-4)
