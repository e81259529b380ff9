"""Written numbers against Python's own, which share no code with tensors of digits."""

import itertools
import math
import re
import string
from collections import Counter

import pytest
import torch
from written import DIGITS, Written, written

from lengthwise.errors import InputError
from lengthwise.tasks import (
    Addition,
    AnswerTask,
    Minesweeper,
    Multiplication,
    ParityScratchpad,
    Successor,
    Task,
)

SYMBOLS = DIGITS + ".+= " + string.ascii_letters
LENGTHS = (1, 2, 3, 7, 20)


def rows(task: Task, length: int, count: int = 150, key: int = 0) -> list[Written]:
    return written(task, length, count, SYMBOLS, ".", key)


def in_order(number: str, reversed: bool) -> str:
    return number[::-1] if reversed else number


def hinted(number: str, reversed: bool, first: str | None) -> str:
    """A number as it is written, with a letter before each digit, if there is a first one."""
    digits = list(number[::-1])
    if first is not None:
        begin = string.ascii_letters.index(first)
        digits = [string.ascii_letters[begin + i] + digit for i, digit in enumerate(digits)]
    return "".join(digits if reversed else digits[::-1])


FIELDS = ("order", "padding", "operand_lengths", "hints", "spaces", "operands")
FORMATS = [
    dict(zip(FIELDS, values, strict=True))
    for values in itertools.product(
        ("plain", "reversed-answer", "reversed"),
        ("none", "longest", "answer"),
        ("independent", "equal"),
        (0, 40),
        (0.0, 0.4),
        (2, 3),
    )
]  # fmt: skip


@pytest.mark.parametrize("length", LENGTHS)
def test_sums_are_those_of_python_in_every_format(length: int) -> None:
    for number, form in enumerate(FORMATS):
        task = Addition(longest=20, **form)
        backward = form["order"] == "reversed"
        for prompt, answer, _ in rows(task, length, 20, number):
            assert not prompt.startswith(" ")
            assert "  " not in prompt
            text = prompt.replace(" ", "")
            assert prompt == text or form["spaces"]
            letters = sorted(re.findall("[a-zA-Z]", text), key=string.ascii_letters.index)
            first = letters[0] if letters else None
            assert bool(letters) == bool(form["hints"])
            bare = re.sub("[a-zA-Z]", "", text).removesuffix("=").split("+")
            numbers = [in_order(one, backward) for one in bare]
            assert len(numbers) == form["operands"]
            sizes = [len(str(int(one))) for one in numbers]
            most = len(str(form["operands"] * int("9" * length)))
            assert max(sizes) == length
            assert form["operand_lengths"] == "independent" or set(sizes) == {length}
            width = {"none": 1, "longest": length, "answer": most}[form["padding"]]
            again = [hinted(str(int(one)).zfill(width), backward, first) for one in numbers]
            assert text == "+".join(again) + "="
            total = str(sum(map(int, numbers))).zfill(1 if form["padding"] == "none" else most)
            assert answer == hinted(total, form["order"] != "plain", first)


@pytest.mark.parametrize("order", ["plain", "reversed-answer", "reversed"])
@pytest.mark.parametrize("padded", [True, False])
def test_successors_and_products_are_those_of_python(order: str, padded: bool) -> None:
    backward, written_back = order == "reversed", order != "plain"
    for length in (*LENGTHS, 60):
        for prompt, answer, _ in rows(Successor(order=order, padded=padded), length):
            number = in_order(prompt.removesuffix("="), backward)
            assert number == str(int(number))
            assert len(number) == length
            expected = str(int(number) + 1).zfill(length + 1 if padded else 1)
            assert answer == in_order(expected, written_back)
        for second in (1, 2, 3):
            task = Multiplication(order=order, padded=padded, second=second)
            for prompt, answer, _ in rows(task, length, 60):
                one, two = (in_order(n, backward) for n in prompt.removesuffix("=").split("+"))
                assert one == str(int(one))
                assert (len(one), len(two)) == (length, second)
                expected = str(int(one) * int(two)).zfill(length + second if padded else 1)
                assert answer == in_order(expected, written_back)


def test_the_ids_of_the_paper() -> None:
    """653+049=2070 with s = 6: its numbers add up to 702, whose digits come last first."""
    task = Addition(positions="coupled")
    tokens = torch.tensor([SYMBOLS.index(one) for one in "653+049=2070"])
    ids = task.position_ids(tokens, 3)
    assert ids is not None
    assert (ids + 6).tolist() == [9, 8, 7, 6, 9, 8, 7, 6, 7, 8, 9, 10]
    found = Multiplication(positions="coupled").position_ids(
        torch.tensor([SYMBOLS.index(one) for one in "653+49=79913"]), 3
    )
    assert found is not None
    assert found.tolist() == [2, 3, 4, 5, 3, 4, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("order", ["plain", "reversed-answer", "reversed"])
@pytest.mark.parametrize("padding", ["none", "longest", "answer"])
@pytest.mark.parametrize("operands", [2, 4])
def test_coupled_ids_are_significances(order: str, padding: str, operands: int) -> None:
    task = Addition(order=order, padding=padding, operands=operands, positions="coupled")
    for length in (1, 2, 9):
        highest = 0
        for prompt, answer, ids in rows(task, length, 50):
            expected = []
            for number in prompt.removesuffix("=").split("+"):
                own = list(range(1, len(number) + 1))
                expected += [*(own if order == "reversed" else own[::-1]), 0]
            own = list(range(1, len(answer) + 1))
            expected += own[::-1] if order == "plain" else own
            assert ids == expected + [0] * (len(ids) - len(expected))
            highest = max(highest, *ids)
        assert highest <= task.answer_digits(length)
    assert task.max_position == task.answer_digits(task.longest) + 1


def test_parities() -> None:
    for length in (*LENGTHS, 50):
        task = ParityScratchpad(positions="coupled")
        for prompt, answer, ids in written(task, length, 100, "01.=", "."):
            word = prompt.removesuffix("=")
            assert len(word) == length
            assert answer == "".join(str(word[: i + 1].count("1") % 2) for i in range(length))
            assert ids == [*range(1, length + 1), 0, *range(1, length + 1)]
        task = ParityScratchpad(scratchpad=False, positions="coupled")
        for prompt, answer, ids in written(task, length, 100, "01.=", "."):
            assert answer == str(prompt.count("1") % 2)
            assert ids == [0] * length + [1, 0]


def test_boards() -> None:
    for side in (1, 2, 3, 6, 12):
        for prompt, answer, ids in written(Minesweeper(), side, 40, DIGITS[:9] + "M.-=", "."):
            squares = list(itertools.product(range(side), repeat=2))
            mines = {at for at, one in zip(squares, prompt[:-1], strict=True) if one == "M"}
            assert set(prompt[:-1]) <= {"M", "-"}
            expected = [
                "M" if (row, column) in mines
                else str(sum(max(abs(row - r), abs(column - c)) == 1 for r, c in mines))
                for row, column in squares
            ]  # fmt: skip
            assert answer == "".join(expected)
            board = [[column + 1, row + 1] for row, column in squares]
            assert ids == [*board, [0, 0], *board]


def test_mines_are_as_many_as_is_said() -> None:
    mines = Minesweeper().draw(torch.tensor(1), 12, 2000).inputs.tokens[:, :144] == 9
    shares = mines.float().mean(1)
    assert abs(shares.mean() - 0.175) < 0.005
    # A uniform share in 0.1..0.25 and binomial noise: not one share for all boards.
    variance = 0.15**2 / 12 + 0.1425 / 144
    assert abs(shares.var() / variance - 1) < 0.15
    full = Minesweeper(least=1, most=1).draw(torch.tensor(1), 3, 5).labels[:, -10:]
    assert full.tolist() == [[9] * 9 + [10]] * 5


def test_operands_have_all_lengths_and_no_leading_zeros() -> None:
    """Independent lengths, given the longest; digits uniform, the first of several never 0."""
    task = Addition(padding="none", order="plain", operands=3)
    count, length = 12_000, 3
    sizes, digits = Counter[tuple[int, ...]](), Counter[tuple[int, int, str]]()
    for prompt, _, _ in rows(task, length, count):
        numbers = prompt.removesuffix("=").split("+")
        sizes[tuple(map(len, numbers))] += 1
        for number in numbers:
            digits.update((len(number), place, digit) for place, digit in enumerate(number))
    every = [s for s in itertools.product((1, 2, 3), repeat=3) if max(s) == 3]
    assert set(sizes) == set(every)
    expected = count / len(every)
    excess = sum((sizes[s] - expected) ** 2 / expected for s in every) - (len(every) - 1)
    assert excess < 4 * math.sqrt(2 * (len(every) - 1))
    for size, place in ((1, 0), (2, 0), (2, 1), (3, 0), (3, 2)):
        allowed = DIGITS if place or size == 1 else DIGITS[1:]
        found = [digits[size, place, digit] for digit in DIGITS]
        assert [bool(one) for one in found] == [digit in allowed for digit in DIGITS]
        mean = sum(found) / len(allowed)
        excess = sum((one - mean) ** 2 / mean for one in found if one) - (len(allowed) - 1)
        assert excess < 4 * math.sqrt(2 * len(allowed))


def test_carries_travel_to_the_end() -> None:
    def answer(task: Task, text: str, length: int) -> str:
        prompt = torch.tensor([[SYMBOLS.index(one) for one in text]])
        tokens = task.answers(prompt, length)[0]  # type: ignore[attr-defined]
        return "".join(SYMBOLS[token] for token in tokens.tolist()).partition(".")[0]

    long = 200
    assert answer(Successor(longest=long), "9" * long + "=", long) == "0" * long + "1"
    addition = Addition(longest=long, padding="none")
    assert answer(addition, "9" * long + "+1=" + "." * (long - 1), long) == "0" * long + "1"
    assert answer(Addition(longest=long, operands=11), "+".join(["99"] * 11) + "=", 2) == "9801"
    assert answer(Addition(padding="none"), "0+0=", 1) == "0"
    assert answer(Multiplication(padded=False), "7+00=", 1) == "0"
    product = str((10**long - 1) * 99)[::-1]
    assert answer(Multiplication(longest=long), "9" * long + "+99=", long) == product


@pytest.mark.parametrize(
    ("task", "lengths", "every"),
    [
        (Addition(operand_lengths="equal"), (1, 2), {1: 100, 2: 8100}),
        (Addition(padding="none"), (1, 2), {1: 100, 2: 9900}),
        (Successor(), (1, 2, 3), {1: 10, 2: 90, 3: 900}),
        (Multiplication(second=1), (1, 2), {1: 100, 2: 900}),
        (ParityScratchpad(), (4, 6), {4: 16, 6: 64}),
    ],
    ids=["addition", "unequal", "successor", "multiplication", "parity"],
)
def test_nothing_that_is_held_out_is_trained_on(
    task: AnswerTask, lengths: tuple[int, ...], every: dict[int, int]
) -> None:
    count, part = 40_000, 8 if isinstance(task, ParityScratchpad) else 10
    for length in lengths:
        train, held_out = (
            Counter(map(tuple, one.prompts(torch.tensor(4), length, count).tolist()))
            for one in (task, task.held_out())
        )
        assert not set(train) & set(held_out)
        if task == Addition(padding="none"):
            continue  # the shortest operands are likelier, and not all are drawn
        assert len(held_out) == every[length] // part
        for found, number in ((train, every[length] - len(held_out)), (held_out, len(held_out))):
            mean = count / number
            assert len(found) == number or mean < 10
            excess = sum((one - mean) ** 2 / mean for one in found.values()) - (number - 1)
            assert excess < 4 * math.sqrt(2 * number)


@pytest.mark.parametrize("operands", [2, 9, 10, 11, 99, 100, 101, 1234])
def test_the_largest_sum_has_as_many_digits_as_is_said(operands: int) -> None:
    task = Addition(operands=operands, longest=9)
    for length in range(1, 10):
        assert task.answer_digits(length) == len(str(operands * int("9" * length)))
    assert Addition(longest=10_000).answer_digits(10_000) == 10_001


def test_hints_begin_anywhere_and_stay_in_range() -> None:
    task = Addition(hints=12, longest=10, order="reversed")
    for length, most in ((1, 2), (10, 11)):
        tokens = task.draw(torch.tensor(0), length, 500).inputs
        hints = tokens[tokens >= 14] - 14
        assert hints.unique().tolist() == list(range(12))
        assert tokens.max() < task.vocab
        begins = (tokens[:, 0] - 14).unique().tolist()
        assert begins == list(range(12 - most + 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Addition(operands=1), "operands = 1: expected at least 2"),
        (lambda: Addition(longest=0), "longest = 0: expected at least 1"),
        (lambda: Addition(hints=60), "hints = 60: expected 0, or at least 61, the digits of the"),
        (lambda: Addition(hints=-1), "hints = -1: expected 0, or at least 61"),
        (lambda: Addition(operands=12, hints=61), "hints = 61: expected 0, or at least 62"),
        (lambda: Addition(spaces=1.0), r"spaces = 1.0: expected a probability in \[0, 1\)"),
        (lambda: Addition(spaces=0.1, positions="coupled"), "positions = 'coupled': expected pla"),
        (lambda: Addition(hints=99, positions="coupled"), "positions = 'coupled': expected plain"),
        (lambda: Addition(padding="zeros"), "padding = 'zeros': .*longest"),
        (lambda: Addition(order="backward"), "order = 'backward'"),
        (lambda: Addition(split="test"), "split = 'test'"),
        (lambda: Successor(positions="coupeld"), "positions = 'coupeld': did you mean 'coupled'"),
        (lambda: Multiplication(second=0), "second = 0: expected a number of digits, 1..8"),
        (lambda: ParityScratchpad(longest=0), "longest = 0: expected at least 1"),
        (lambda: Minesweeper(least=0.3), "most = 0.25: expected a share from least = 0.3 to 1"),
        (lambda: Minesweeper(least=-0.1), "least = -0.1: expected a share"),
        (lambda: Addition().draw(torch.tensor(0), 61, 1), r"length = 61: expected one of 1\.\.60"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(make, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
