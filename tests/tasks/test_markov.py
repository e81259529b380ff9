"""The Markov source: its own table, its noise, and what it says of the next token."""

from collections import Counter

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.tasks import Markov
from lengthwise.tasks.markov import latin_square


@pytest.mark.parametrize("size", [2, 3, 8, 13])
def test_no_token_stands_twice_in_a_row_or_column(size: int) -> None:
    table, every = latin_square(size).tolist(), set(range(size))
    assert all(set(row) == every for row in table)
    assert all(set(column) == every for column in zip(*table, strict=True))


@pytest.mark.parametrize("reach", [2, 5])
def test_targets_are_what_follows(reach: int) -> None:
    """Counted over contexts: how often each token follows two others."""
    task = Markov(symbols=3, reach=reach, noise=0.3)
    length, table = 40, latin_square(3).tolist()
    inputs, labels = task.draw(torch.tensor(1), length, 2000)
    targets = task.targets(inputs).tolist()
    followed: dict[tuple[int, int], Counter[int]] = {}
    first = Counter[int]()
    for tokens, nexts, chances in zip(inputs.tolist(), labels.tolist(), targets, strict=True):
        assert nexts[:-1] == tokens[1:]
        first[tokens[0]] += 1
        for place, (token, chance) in enumerate(zip(nexts, chances, strict=True)):
            if place + 1 < reach:
                assert chance == pytest.approx([1 / 3] * 3)
                continue
            context = (tokens[place], tokens[place + 1 - reach])
            followed.setdefault(context, Counter())[token] += 1
            right = table[context[0]][context[1]]
            assert chance == pytest.approx([0.8 if one == right else 0.1 for one in range(3)])
    assert len(followed) == 9
    for (last, far), counts in followed.items():
        total = sum(counts.values())
        for token in range(3):
            chance = 0.8 if token == table[last][far] else 0.1
            assert abs(counts[token] / total - chance) < 5 * (chance * (1 - chance) / total) ** 0.5
    assert max(abs(one / 2000 - 1 / 3) for one in first.values()) < 0.06


def test_either_token_alone_says_nothing() -> None:
    inputs, labels = Markov(symbols=4, reach=6).draw(torch.tensor(3), 100, 2000)
    for context in (inputs[:, 10:], inputs[:, 5:-5]):
        codes = (context * 4 + labels[:, 10:]).flatten().bincount(minlength=16) / context.numel()
        assert (codes - 1 / 16).abs().max() < 0.004


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_noise_at_the_ends_of_its_range(noise: float) -> None:
    task = Markov(noise=noise)
    inputs, labels = task.draw(torch.tensor(2), 60, 200)
    sure = task.targets(inputs).amax(-1)[:, 11:]
    assert torch.equal(sure, torch.full_like(sure, 1.0 if noise == 0 else 1 / 8))
    right = task.targets(inputs).argmax(-1)[:, 11:] == labels[:, 11:]
    assert noise == 1 or right.all()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"symbols": 1}, "symbols = 1: expected at least 2"),
        ({"reach": 1}, "reach = 1: expected at least 2"),
        ({"noise": -0.1}, "noise = -0.1: expected a probability"),
        ({"longest": 11}, "longest = 11: expected at least reach = 12"),
    ],
)
def test_bad_input_is_one_line(fields: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Markov(**fields)
