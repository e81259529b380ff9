"""Tasks that point and count, against lists and their own functions."""

from collections import Counter, defaultdict

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.tasks import Cases, LocalGlobal, SparseParity


@pytest.mark.parametrize("answer", ["token", "place"])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("lowest", "first", "vocab"), [(64, 50, 100), (2, 5, 7), (1, 0, 3)])
def test_cases(answer: str, balanced: bool, lowest: int, first: int, vocab: int) -> None:
    fields = {"balanced": balanced, "answer": answer, "longest": 40}
    task = Cases(vocab, lowest, first, **fields)
    for length in (1, 2, 5, 40):
        seen = Counter[str]()
        inputs, labels = task.draw(torch.tensor(length), length, 600)
        for tokens, label in zip(inputs.tolist(), labels.tolist(), strict=True):
            assert all(0 <= token < vocab for token in tokens)
            if lowest in tokens:
                case, place = "lowest", tokens.index(min(tokens))
            elif first in tokens:
                case, place = "first", 0
            else:
                case, place = "largest", tokens.index(max(tokens))
            assert label == (place if answer == "place" else tokens[place])
            seen[case] += 1
        if balanced:
            assert len(seen) == 3
            assert max(abs(one - 200) for one in seen.values()) < 5 * 200**0.5


def test_balanced_cases_are_uniform_but_for_their_markers() -> None:
    inputs = Cases(4, 2, 0).draw(torch.tensor(1), 2, 60_000).inputs
    codes = Counter(map(tuple, inputs.tolist()))
    # Smallest: a 2 at a place, any token at the other. First: a 0, and no 2. Largest: 1 and 3.
    chances: dict[tuple[int, int], float] = defaultdict(float)
    for other in range(4):
        for pair in ((2, other), (other, 2)):
            chances[pair] += 1 / 3 / 2 / 4
    for other in (0, 1, 3):
        for pair in ((0, other), (other, 0)):
            chances[pair] += 1 / 3 / 2 / 3
    for pair in ((1, 1), (1, 3), (3, 1), (3, 3)):
        chances[pair] += 1 / 3 / 4
    assert set(codes) == set(chances)
    excess = sum((codes[one] - 60_000 * p) ** 2 / (60_000 * p) for one, p in chances.items())
    assert excess < 45  # chi-squared with 15 degrees of freedom: a chance of 1e-4


@pytest.mark.parametrize("answer", ["token", "place"])
@pytest.mark.parametrize(("vocab", "marker"), [(100, 64), (3, 0), (20, 19)])
def test_local_or_global(answer: str, vocab: int, marker: int) -> None:
    task = LocalGlobal(vocab, marker, answer=answer, longest=60)
    for length in (1, 3, 60):
        inputs, labels = task.draw(torch.tensor(length), length, 200)
        for tokens, asked in zip(inputs.tolist(), labels.tolist(), strict=True):
            for place, label in enumerate(asked):
                seen = tokens[: place + 1]
                right = place if marker in seen else seen.index(min(seen))
                assert label == (right if answer == "place" else seen[right])


@pytest.mark.parametrize("marked", [1, 2, 8])
def test_parity_of_what_is_marked(marked: int) -> None:
    task = SparseParity(marked=marked, longest=30)
    for length in (marked, marked + 1, 30):
        places, parities = Counter[int](), Counter[int]()
        inputs, labels = task.draw(torch.tensor(length), length, 500)
        for tokens, label in zip(inputs.tolist(), labels.tolist(), strict=True):
            text = "".join("01*"[token] for token in tokens)
            assert text.count("*") == marked
            assert "**" not in text
            assert not text.endswith("*")
            assert len(text) == length + marked
            _, *behind = text.split("*")
            assert label == sum(int(part[0]) for part in behind) % 2
            bits = text.replace("*", "* ").replace("* ", "x").split("x")
            before = 0
            for part in bits[:-1]:
                before += len(part)
                places[before] += 1
            parities[label] += 1
        assert set(places) == set(range(length))
        mean = 500 * marked / length
        assert max(abs(one - mean) for one in places.values()) <= 5 * mean**0.5
        assert abs(parities[1] - 250) < 60


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cases(vocab=2), "vocab = 2: expected at least 3"),
        (lambda: Cases(vocab=60), r"lowest_marker = 64: expected a token, 0\.\.59"),
        (lambda: Cases(first_marker=64), "first_marker = 64: expected another one than lowest"),
        (lambda: Cases(answer="index"), "answer = 'index'"),
        (lambda: LocalGlobal(vocab=1), "vocab = 1: expected at least 2"),
        (lambda: LocalGlobal(vocab=10), r"marker = 64: expected a token, 0\.\.9"),
        (lambda: LocalGlobal(answer="index"), "answer = 'index'"),
        (lambda: SparseParity(marked=0), "marked = 0: expected at least 1"),
        (lambda: SparseParity(marked=101), "longest = 100: expected at least marked = 101"),
        (
            lambda: SparseParity(marked=4).draw(torch.tensor(0), 3, 1),
            r"length = 3: expected one of 4\.\.100, as 4 bits are marked",
        ),
    ],
)
def test_bad_input_is_one_line(make, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
