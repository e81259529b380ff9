"""Tasks over strings of symbols, against plain Python on the strings as a person reads them."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.registry import TASKS
from lengthwise.tasks import IGNORE_INDEX, AnswerTask
from lengthwise.tasks.copying import Count, Sort, UniqueCopy
from lengthwise.tasks.crasp_addition import CraspAddition
from lengthwise.tasks.crasp_parity import CraspParity
from lengthwise.tasks.majority import BinaryMajority, InterleavedMajority, Majority, Mode
from lengthwise.testing import TaskConformance


def majority(string: list[str]) -> list[str]:
    (winner, most), *others = Counter(string).most_common(2)
    assert not others or others[0][1] < most, "there is a winner"
    return [winner]


def mode(string: list[str]) -> list[str]:
    return [min(set(string), key=lambda one: (-string.count(one), int(one)))]


def distinct(string: list[str]) -> list[str]:
    assert len(set(string)) == len(string)
    return string


def addition(string: list[str]) -> list[str]:
    first, second = "".join(string).split("+")
    assert all(number in ("0", "1") or number[0] == "1" for number in (first, second))
    return list(f"{int(first, 2) + int(second, 2):b}")


REFERENCES: list[tuple[AnswerTask, Callable[[list[str]], list[str]]]] = [
    (BinaryMajority(), majority),
    (Majority(), majority),
    (InterleavedMajority(), lambda s: [majority(s[strand::3])[0] for strand in range(3)]),
    (InterleavedMajority(strands=2), lambda s: [majority(s[strand::2])[0] for strand in range(2)]),
    (Mode(), mode),
    (Mode(symbols=3), mode),
    (Sort(), lambda s: sorted(distinct(s), key=int)),
    (UniqueCopy(), distinct),
    (TASKS.get("repeat-copy")(), lambda s: s),
    (Count(), lambda s: [str(one) for one in range(int(s[0]), int(s[1]) + 1)]),
    (CraspParity(), lambda s: ["eo"[s.count("1") % 2]]),
    (CraspParity(iid=True), lambda s: ["eo"[s.count("1") % 2]]),
    (CraspAddition(), addition),
]


class TestVariants(TaskConformance):
    tasks = (
        CraspParity(longest=2, iid=True),
        CraspAddition(longest=5),
        Count(longest=3, symbols=7),
        InterleavedMajority(strands=2),
        Mode(symbols=3),
        Sort(longest=2, symbols=2),
    )


@pytest.mark.parametrize(("task", "answer"), REFERENCES, ids=lambda v: getattr(v, "name", ""))
def test_answers_are_those_of_plain_python(
    task: AnswerTask, answer: Callable[[list[str]], list[str]]
) -> None:
    names = task.token_names
    for length in (*task.lengths[:9], 20, task.lengths[-1]):
        inputs, labels = task.draw(torch.tensor(length), length, 100)
        for row, asked in zip(inputs.tolist(), labels.tolist(), strict=True):
            tokens = [names[one] for one in row]
            sign = next(place for place, one in enumerate(tokens) if one in ("SEP", "="))
            assert tokens[0] == "BOS"
            expected = [*answer(tokens[1:sign]), "END"]
            assert tokens[sign + 1 :][: len(expected) - 1] == expected[:-1]
            assert set(tokens[sign + len(expected) :]) <= {"END"}
            nothing = len(row) - sign - len(expected)
            assert asked[:sign] == [IGNORE_INDEX] * sign
            assert [names[one] for one in asked[sign : sign + len(expected)]] == expected
            assert asked[sign + len(expected) :] == [IGNORE_INDEX] * nothing
            strings = tokens[1:sign]
            assert isinstance(task, Count) or len(strings) == task.input_size(length) - (
                task.sizes(length)[1] + 1
            )


def assert_uniform(observed: torch.Tensor) -> None:
    """Chi-squared, with a chance of about 1e-4 of failing."""
    mean = observed.float().mean()
    freedom = len(observed) - 1
    assert ((observed - mean) ** 2 / mean).sum() < freedom + 4 * (2 * freedom) ** 0.5 + 10


@pytest.mark.parametrize("length", [7, 8])
def test_every_number_of_ones_is_equally_likely(length: int) -> None:
    strings = CraspParity().draw(torch.tensor(1), length, 20_000).inputs[:, 1 : length + 1]
    assert_uniform(torch.bincount(strings.sum(-1), minlength=length + 1))
    strings = BinaryMajority().draw(torch.tensor(1), length, 20_000).inputs[:, 1 : length + 1]
    numbers = torch.bincount(strings.sum(-1), minlength=length + 1)
    untied = torch.arange(length + 1) * 2 != length
    assert (numbers[~untied] == 0).all()
    assert_uniform(numbers[untied])
    assert_uniform(strings.sum(0))


def test_independent_bits_are_independent() -> None:
    strings = CraspParity(iid=True).draw(torch.tensor(1), 5, 32_000).inputs[:, 1:6]
    assert_uniform(torch.bincount((strings << torch.arange(5)).sum(-1), minlength=32))


def test_all_strings_with_a_winner_are_equally_likely() -> None:
    strings = Majority().draw(torch.tensor(2), 2, 26_000).inputs[:, 1:3]
    assert (strings[:, 0] == strings[:, 1]).all()
    assert_uniform(torch.bincount(strings[:, 0], minlength=26))
    third = Majority().draw(torch.tensor(2), 3, 20_000).inputs[:, 1:4]
    kinds = (third[:, [0, 0, 1]] == third[:, [1, 2, 2]]).long()
    same = (kinds.sum(-1) == 3).float().mean()
    assert (same - 26 / (26 + 3 * 26 * 25)).abs() < 0.005
    assert_uniform(kinds[kinds.sum(-1) == 1].sum(0))


def test_a_shorter_try_is_not_another_string() -> None:
    """How many strings are tried at a time changes nothing: it depends on how many are drawn."""
    many = Majority().draw(torch.tensor(5), 2, 20_000).inputs
    assert torch.equal(Majority().draw(torch.tensor(5), 2, 3).inputs, many[:3])


def test_distinct_symbols_are_drawn_uniformly() -> None:
    strings = UniqueCopy(longest=4, symbols=4).draw(torch.tensor(3), 3, 24_000).inputs[:, 1:4]
    assert_uniform(torch.bincount((strings * torch.tensor([16, 4, 1])).sum(-1))[[6, 7, 9, 11]])
    assert len({tuple(row) for row in strings.tolist()}) == 24


def test_the_first_number_of_an_addition_has_any_length() -> None:
    tokens = CraspAddition().draw(torch.tensor(4), 9, 12_000).inputs
    assert_uniform(torch.bincount((tokens == 2).long().argmax(-1), minlength=8)[2:])


def test_numbers_to_count_from_leave_room() -> None:
    inputs = Count(longest=10, symbols=10).draw(torch.tensor(4), 8, 9000).inputs
    assert_uniform(torch.bincount(inputs[:, 1], minlength=3))


def test_inputs_that_are_equally_likely_are_enumerated() -> None:
    assert len(TASKS.get("repeat-copy")().enumerate_inputs(5, 32)) == 32
    assert len(Mode(symbols=3).enumerate_inputs(4, 81)) == 81
    assert Mode(symbols=3).enumerate_inputs(4, 80) is None
    assert len(Count().enumerate_inputs(100, 2000)) == 51
    assert len(UniqueCopy().enumerate_inputs(1, 150)) == 150
    assert len(CraspParity(iid=True).enumerate_inputs(3, 8)) == 8
    assert CraspParity().enumerate_inputs(3, 8) is None
    assert BinaryMajority().enumerate_inputs(3, 8) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sort(symbols=149), "symbols = 149: expected 150..10000, a symbol for every place"),
        (lambda: Mode(symbols=1), "symbols = 1: expected 2.."),
        (lambda: BinaryMajority(longest=1), "longest = 1: expected at least 2"),
        (lambda: InterleavedMajority(strands=0), "strands = 0: expected 1..150"),
        (lambda: CraspAddition(longest=4), "longest = 4: expected at least 5"),
        (lambda: Sort().draw(torch.tensor(0), 151, 1), "length = 151: expected one of 1..150"),
        (lambda: CraspAddition().draw(torch.tensor(0), 3, 1), "length = 3: expected one of 4..150"),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()
