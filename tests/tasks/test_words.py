"""What tasks draw with: distinct numbers, splits, and rows that are moved together."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.randomness import at, bits
from lengthwise.tasks._sets import directions, examples
from lengthwise.tasks._slots import EMPTY, compact
from lengthwise.tasks._splits import split_bits, split_symbol
from lengthwise.tasks._words import distinct, draw_words, words_of

KEYS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4)


@given(KEYS, st.integers(0, 30), st.integers(0, 70), st.integers(0, 2**31 - 100))
def test_compiled_numbers_are_those_of_the_streams(
    keys: list[int], step: int, count: int, first: int
) -> None:
    key = torch.tensor(keys).unsqueeze(-1)
    assert torch.equal(words_of(key, step, count, first), bits(at(key, step), count, first))
    assert torch.equal(examples(key, count), at(key.unsqueeze(-1), torch.arange(count)))


@given(KEYS, st.integers(1, 40))
def test_compiled_directions_are_sums_of_bytes(keys: list[int], width: int) -> None:
    """Four bytes make a component, exactly, before the vector is scaled."""
    words = bits(torch.tensor(keys), width).long()
    parts = [(words >> shift) & 0xFF for shift in (0, 8, 16, 24)]
    whole = torch.stack(parts).sum(0) - 510
    length = whole.double().square().sum(-1, keepdim=True).sqrt().clamp(min=1.0)
    assert torch.equal(directions(torch.tensor(keys), width), (whole / length).float())


@given(st.integers(1, 300), st.integers(0, 10**6), st.data())
def test_chosen_numbers_are_distinct(bound: int, key: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, bound))
    chosen = distinct(bits(torch.tensor([key, 1]), 3 * count).view(2, 3, count), bound)
    assert chosen.shape == (2, 3, count)
    assert ((chosen >= 0) & (chosen < bound)).all()
    for row in chosen.flatten(0, 1).tolist():
        assert len(set(row)) == count


@pytest.mark.parametrize(("count", "bound"), [(2, 5), (4, 4)])
def test_all_choices_are_equally_likely(count: int, bound: int) -> None:
    number, choices = 40_000, math.perm(bound, count)
    chosen = distinct(bits(torch.tensor(7), number * count).view(number, count), bound)
    codes = (chosen * bound ** torch.arange(count)).sum(-1)
    observed = codes.unique(return_counts=True)[1]
    assert len(observed) == choices
    excess = ((observed - number / choices) ** 2 / (number / choices)).sum() - (choices - 1)
    assert excess < 4 * math.sqrt(2 * choices)


@given(st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), min_size=1, max_size=5))
def test_rows_are_moved_together(rows: list[list[int]]) -> None:
    found = compact(torch.tensor(rows), 9).tolist()
    for row, own in zip(rows, found, strict=True):
        held = [one for one in row if one != EMPTY]
        assert own == held + [9] * (6 - len(held))


@pytest.mark.parametrize("base", [2, 8, 10])
def test_a_split_has_no_symbol_in_common(base: int) -> None:
    count = 30_000
    others = bits(torch.tensor(1), 4 * count).view(-1, 4) % 1000
    words = bits(torch.tensor(2), count)
    train, held_out = (split_symbol(words, others, base, one) for one in ("train", "held-out"))
    assert (train != held_out).all()
    assert torch.equal(split_symbol(words + 1, others, base, "held-out"), held_out)
    for found in (train, held_out):
        counts = found.bincount(minlength=base) / count
        assert (counts - 1 / base).abs().max() < 5 * (0.25 / count) ** 0.5


def test_every_other_symbol_counts() -> None:
    words, one = torch.zeros(5, dtype=torch.int32), torch.eye(5, 4, dtype=torch.int64)
    found = torch.stack([split_symbol(words, one * n, 10**6, "held-out") for n in (1, 2, 3)])
    assert len(found[:, :4].unique()) == 12
    assert len(found[:, 4].unique()) == 1


@pytest.mark.parametrize("length", [1, 3, 4, 12])
def test_bits_are_uniform_in_both_splits(length: int) -> None:
    words = draw_words(torch.tensor(5), 20_000, (length,))[0]
    strings = [split_bits(words, split) for split in ("train", "held-out")]
    codes = [set((one * 2 ** torch.arange(length)).sum(-1).tolist()) for one in strings]
    if length <= 3:
        assert codes == [set(range(2**length))] * 2
        return
    assert not codes[0] & codes[1]
    assert len(codes[1]) == 2 ** (length - 3)
    assert (strings[0].float().mean(0) - 0.5).abs().max() < 0.1
    assert length == 4 or (strings[1].float().mean(0) - 0.5).abs().max() < 0.1
