"""The Chomsky suite against plain Python on the strings as a person reads them."""

import itertools
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.measures import measure_by_length
from lengthwise.models import GPTModel
from lengthwise.registry import TASKS
from lengthwise.tasks import IGNORE_INDEX, Task
from lengthwise.tasks._parallel import ParallelTask
from lengthwise.training import Hyperparameters


def even_pairs(string: list[str]) -> list[int]:
    pairs = ["".join(pair) for pair in itertools.pairwise(string)]
    return [(pairs.count("01") + pairs.count("10")) % 2]


def navigate(string: list[str]) -> list[int]:
    place = 0
    for step in string:
        place = (place + {"0": -1, "1": 0, "2": 1}[step]) % 5
    return [place]


def value(string: list[str]) -> list[int]:
    return [eval("".join(string)) % 5]


def solution(string: list[str]) -> list[int]:
    left, right = "".join(string).split("=")
    assert left.count("x") == 1
    assert "*" not in left
    found = [x for x in range(5) if eval(left.replace("x", str(x))) % 5 == int(right)]
    assert len(found) == 1, "there is one solution"
    return found


def stack(string: list[str]) -> list[int]:
    held: list[int] = []
    for number, one in enumerate(string):
        if one in "01":
            assert set(string[:number]) <= {"0", "1"}, "the stack stands first"
            held.append(int(one))
        elif one == "POP":
            del held[-1:]
        else:
            held.append(int(one.removeprefix("PUSH")))
    return [*reversed(held), 2]


def missing(string: list[str]) -> list[int]:
    text = "".join(string)
    assert text.count("?") == 1
    assert text.endswith("-") == (len(text) % 2 == 1)
    text = text.removesuffix("-")
    half = len(text) // 2
    filled = [text.replace("?", bit) for bit in "01"]
    return [bit for bit, one in enumerate(filled) if one[:half] == one[half:]]


def binary(string: list[str]) -> list[int]:
    text = "".join(string)
    numbers = [int(part[::-1], 2) for part in re.split(r"[+*]", text)]
    assert len(numbers) == 2
    assert min(numbers) > 0
    total = sum(numbers) if "+" in text else numbers[0] * numbers[1]
    return [*map(int, reversed(f"{total:b}")), 2]


def root(string: list[str]) -> list[int]:
    number, low = int("".join(string), 2), 0
    assert number > 0
    size = -(-len(string) // 2)
    for bit in reversed(range(size)):
        if (low + 2**bit) ** 2 <= number:
            low += 2**bit
    return [*map(int, f"{low:0{size}b}")]


REFERENCES: dict[str, Callable[[list[str]], list[int]]] = {
    "even-pairs": even_pairs,
    "modular-arithmetic": value,
    "parity-check": lambda s: [s.count("1") % 2],
    "cycle-navigation": navigate,
    "stack-manipulation": stack,
    "reverse-string": lambda s: [int(one) for one in reversed(s)],
    "modular-arithmetic-brackets": value,
    "solve-equation": solution,
    "duplicate-string": lambda s: [int(one) for one in s + s],
    "missing-duplicate": missing,
    "odds-first": lambda s: [int(one) for one in s[0::2] + s[1::2]],
    "binary-addition": binary,
    "binary-multiplication": binary,
    "compute-sqrt": root,
    "bucket-sort": lambda s: sorted(int(one) for one in s),
}


def test_all_fifteen_are_here() -> None:
    suite = {name for name in TASKS.listed() if issubclass(TASKS.get(name), ParallelTask)}
    assert suite == set(REFERENCES)
    assert len(suite) == 15


@pytest.mark.parametrize("name", REFERENCES)
def test_answers_are_those_of_plain_python(name: str) -> None:
    task: ParallelTask = TASKS.get(name)()
    names = task.token_names
    for length in (*task.lengths[:9], 20, 41, 60):
        inputs, labels = task.draw(torch.tensor(length), length, 100)
        size = task.string_size(length)
        for row, asked in zip(inputs.tolist(), labels.tolist(), strict=True):
            expected = REFERENCES[name]([names[one] for one in row[:size]])
            assert set(row[size:]) == {len(names) - 1}, "answers are not among the inputs"
            assert asked[:size] == [IGNORE_INDEX] * size
            assert asked[size : size + len(expected)] == expected
            assert set(asked[size + len(expected) :]) <= {IGNORE_INDEX}


@pytest.mark.parametrize(
    "name", ["binary-addition", "binary-multiplication", "compute-sqrt", "stack-manipulation"]
)
@pytest.mark.parametrize("length", [96, 97, 500])
def test_long_answers_are_those_of_plain_python(name: str, length: int) -> None:
    """Compiled code works on parts of 32 digits, between which something is carried."""
    task: ParallelTask = TASKS.get(name)()
    inputs, labels = task.draw(torch.tensor(length), length, 200)
    for row, asked in zip(inputs.tolist(), labels.tolist(), strict=True):
        expected = REFERENCES[name]([task.token_names[one] for one in row[:length]])
        assert [one for one in asked if one != IGNORE_INDEX] == expected


@pytest.mark.parametrize("ones", [31, 32, 63, 64, 65])
def test_a_carry_goes_all_the_way(ones: int) -> None:
    """Of all ones: plus 1, and times themselves."""
    one, full = [1], [1] * ones
    for name, other, number in (
        ("binary-addition", one, 2**ones),
        ("binary-multiplication", full, (2**ones - 1) ** 2),
    ):
        answer = TASKS.get(name)().answers(torch.tensor([[*full, 2, *other]]))[0].tolist()
        expected = [*map(int, reversed(f"{number:b}")), 2]
        assert answer[: len(expected)] == expected
        assert set(answer[len(expected) :]) <= {IGNORE_INDEX}


@pytest.mark.parametrize("name", REFERENCES)
def test_strings_have_their_length(name: str) -> None:
    task: ParallelTask = TASKS.get(name)()
    for length in (task.lengths[0], 10, 11, task.lengths[-1]):
        assert task.draw(torch.tensor(1), length, 2).inputs.shape[-1] == task.input_size(length)
        symbols = 2 * length - 1 if name == "modular-arithmetic" else length
        assert task.string_size(length) == symbols


def assert_uniform(observed: Tensor) -> None:
    """Chi-squared, with a chance of about 1e-4 of failing."""
    mean, freedom = observed.float().mean(), len(observed) - 1
    assert ((observed - mean) ** 2 / mean).sum() < freedom + 4 * (2 * freedom) ** 0.5 + 10


def test_operators_are_drawn_at_every_length() -> None:
    """The suite keeps them in a generator, which is used up at the first length."""
    task = TASKS.get("modular-arithmetic")()
    for length in (5, 6, 7):
        tokens = task.draw(torch.tensor(1), length, 2000).inputs[:, 1:-1:2]
        assert_uniform(torch.bincount(tokens.flatten(), minlength=8)[5:])


def test_positive_numbers_are_equally_likely() -> None:
    strings = TASKS.get("compute-sqrt")().draw(torch.tensor(1), 4, 15_000).inputs[:, :4]
    numbers = torch.bincount((strings * torch.tensor([8, 4, 2, 1])).sum(-1), minlength=16)
    assert numbers[0] == 0
    assert_uniform(numbers[1:])
    tokens = TASKS.get("binary-addition")().draw(torch.tensor(1), 6, 30_000).inputs[:, :6]
    sign = (tokens == 2).long().argmax(-1)
    assert_uniform(torch.bincount(sign, minlength=5)[1:])
    for split in (1, 2, 3, 4):
        first = tokens[sign == split][:, :split]
        found = torch.bincount((first << torch.arange(split)).sum(-1), minlength=2**split)
        assert found[0] == 0
        assert_uniform(found[1:])


def test_brackets_split_anywhere() -> None:
    tokens = TASKS.get("modular-arithmetic-brackets")().draw(torch.tensor(1), 9, 10_000).inputs
    lengths = []
    for row in tokens[:, :9].tolist():
        text = "".join("01234+-*()"[one] for one in row)
        depths = list(itertools.accumulate((one == "(") - (one == ")") for one in text))
        signs = [n for n in range(2, 9) if text[n] in "+-*" and depths[n] == 1]
        lengths.append(signs[0] - 1)
    assert_uniform(torch.bincount(torch.tensor(lengths), minlength=6)[1:])


def test_the_stack_has_any_size_at_first() -> None:
    tokens = TASKS.get("stack-manipulation")().draw(torch.tensor(1), 8, 7000).inputs[:, :8]
    assert_uniform(torch.bincount((tokens < 2).sum(-1), minlength=8)[1:])


def test_bucket_sort_is_nearly_known_without_reading() -> None:
    task = TASKS.get("bucket-sort")()
    for length, known in ((41, 0.7796), (500, 0.9365)):
        labels = task.draw(torch.tensor(1), length, 2000).labels[:, length:]
        guess = (5 * (torch.arange(length) + 0.5) / length).long()
        assert abs((labels == guess).float().mean().item() - known) < 0.01


def test_a_model_may_see_all_of_the_input() -> None:
    model = GPTModel(layers=1, heads=2, width=8, causal=False)
    for name in REFERENCES:
        model.build(TASKS.get(name)(), Hyperparameters())


class Oracle:
    """Answers as the targets say, but at inputs of `wrong` tokens, where it knows nothing."""

    size = 1
    device = torch.device("cpu")
    template = torch.nn.Identity()  # without remedies

    def __init__(self, task: Task, wrong: int = 0) -> None:
        self.task, self.wrong = task, wrong

    def takes(self, inputs: Tensor) -> bool:
        return False  # it answers at all places

    def predict(self, inputs: Tensor, weights: Tensor | None = None, asked: None = None) -> Tensor:
        targets = self.task.targets(inputs)
        if inputs.shape[-1] == self.wrong:
            targets = 1 - targets
        return targets.log().clamp(min=-1e4).unsqueeze(0)


FAMILIES = {
    "chomsky_context_free", "chomsky_context_sensitive", "chomsky_regular", "copying", "counting",
    "crasp_addition", "crasp_parity", "dyck", "language", "majority", "regular", "tomita",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [name for name, one in TASKS.listed().items() if one.module.split(".")[-1] in FAMILIES]
)
def test_who_knows_the_targets_is_right_at_every_length(name: str) -> None:
    """Also where strings are filled up and some places ask nothing."""
    task = TASKS.get(name)()
    lengths = [task.lengths[0], 17, 41]
    found = list(measure_by_length(Oracle(task), task, lengths, inputs=20))  # type: ignore[arg-type]
    assert {one.length for one in found if one.measure == "exact_match"} == set(lengths)
    for one in found:
        if one.measure in ("exact_match", "accuracy"):
            assert one.values.item() == 1
        if one.measure == "tvd":
            assert abs(one.values.item()) < 1e-5


def test_a_length_is_scored_as_itself() -> None:
    """The suite's score of lengths above 40 begins with 42."""
    task = TASKS.get("reverse-string")()
    oracle = Oracle(task, wrong=task.input_size(41))
    measured = measure_by_length(oracle, task, [40, 41, 42], inputs=10)  # type: ignore[arg-type]
    found = {one.length: one.values.item() for one in measured if one.measure == "exact_match"}
    assert found == {40: 1, 41: 0, 42: 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TASKS.get("even-pairs")(longest=1), "longest = 1: expected more than 1"),
        (lambda: TASKS.get("solve-equation")(longest=0), "longest = 0: expected more than 3"),
        (
            lambda: TASKS.get("missing-duplicate")().draw(torch.tensor(0), 1, 1),
            "length = 1: expected one of 2..500",
        ),
        (
            lambda: TASKS.get("binary-addition")().draw(torch.tensor(0), 501, 1),
            "length = 501: expected one of 3..500",
        ),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()
