"""Tasks that ask for what stood before, against slow loops over lists."""

import string
from collections import Counter

import pytest
import torch
from written import written

from lengthwise.errors import InputError
from lengthwise.tasks import (
    IGNORE_INDEX,
    FlipFlop,
    MultiQueryRecall,
    MultiTokenRecall,
    NBack,
    Needle,
    Task,
)


def rows(task: Task, length: int, count: int) -> list[tuple[list[int], list[int]]]:
    inputs, labels = task.draw(torch.tensor(length), length, count)
    return list(zip(inputs.tolist(), labels.tolist(), strict=True))


def pairs_of(tokens: list[int]) -> list[tuple[int, int]]:
    return list(zip(tokens[::2], tokens[1::2], strict=True))


@pytest.mark.parametrize("task", [MultiQueryRecall(), MultiQueryRecall(5, 3, slots=1)], ids=repr)
def test_every_key_is_asked_for_once(task: MultiQueryRecall) -> None:
    blank, orders = task.values + task.keys, Counter[tuple[int, ...]]()
    for length in (1, 2, 5, task.keys):
        for tokens, labels in rows(task, length, 100):
            known = {}
            for key, value in pairs_of(tokens[: 2 * length]):
                assert task.values <= key < blank
                assert 0 <= value < task.values
                assert key not in known
                known[key] = value
            assert labels[: 2 * length] == [IGNORE_INDEX] * 2 * length
            asked = []
            for place in range(2 * length, len(tokens)):
                if tokens[place] == blank:
                    assert labels[place] == IGNORE_INDEX
                else:
                    assert place % 2 == 0
                    assert labels[place] == known[tokens[place]]
                    asked.append(tokens[place])
            assert sorted(asked) == sorted(known)
            if length == 2:
                orders[tuple(list(known).index(key) for key in asked)] += 1
    assert len(orders) == 2
    assert min(orders.values()) > 25


@pytest.mark.parametrize(
    "task",
    [
        MultiTokenRecall(symbols=26),
        MultiTokenRecall(3, 2, 1, 1, 0, 9),
        MultiTokenRecall(5, 1, 3, 6, 2, 5),
    ],
    ids=repr,
)
def test_values_of_several_tokens(task: MultiTokenRecall) -> None:
    symbols = string.ascii_lowercase[: task.symbols] + "?.: ="
    gaps, repeated = Counter[int](), False
    for length in (1, 2, task.longest):
        for prompt, answer, _ in written(task, length, 100, symbols, "."):
            pairs, *queries = prompt.removesuffix("=").split("?")
            assert pairs.endswith(" ")
            known = dict(one.split(":") for one in pairs.split())
            assert len(known) == len(pairs.split()) == length
            assert {len(key) for key in known} == {task.key_size}
            assert {len(value) for value in known.values()} == {task.value_size}
            assert len(queries) == task.queries
            assert answer == "".join("?" + known[query] for query in queries)
            runs = "".join(one if one == " " else "x" for one in pairs).split("x")
            gaps.update(len(run) for run in runs if run)
            repeated |= len(set(queries)) < len(queries)
    assert set(gaps) == set(range(1, task.blanks + 2))
    assert repeated or task.queries == 1


def test_what_was_written_last_is_read() -> None:
    task = FlipFlop(longest=60)
    counts = Counter[int]()
    for length in (2, 3, 10, 60):
        for tokens, labels in rows(task, length, 300):
            assert len(tokens) == 2 * length - 1
            assert tokens[0] == 2
            assert tokens[-1] == 4
            memory = -1
            for place, token in enumerate(tokens):
                if place % 2:
                    assert token in (0, 1)
                    assert labels[place] == IGNORE_INDEX
                    if tokens[place - 1] == 2:
                        memory = token
                    elif tokens[place - 1] == 4:
                        assert token == memory
                elif token == 4:
                    assert labels[place] == memory
                else:
                    assert labels[place] == IGNORE_INDEX
            counts.update(tokens[2:-1:2] if length == 60 else ())
    total = sum(counts.values())
    for instruction, share in ((2, 0.1), (3, 0.8), (4, 0.1)):
        assert abs(counts[instruction] / total - share) < 0.02


@pytest.mark.parametrize("ignore", [0.0, 1.0])
def test_instructions_at_the_ends_of_their_range(ignore: float) -> None:
    tokens = FlipFlop(ignore=ignore).draw(torch.tensor(0), 30, 50).inputs[:, 2:-1:2]
    assert tokens.unique().tolist() == ([3] if ignore else [2, 4])


@pytest.mark.parametrize("task", [NBack(), NBack(back=1), NBack(back=5, symbols=2)], ids=repr)
def test_tokens_before(task: NBack) -> None:
    for length in (1, 2, 5, 6, 40):
        for tokens, labels in rows(task, length, 30):
            for place, label in enumerate(labels):
                before = tokens[place - task.back] if place >= task.back else task.symbols
                assert label == before


@pytest.mark.parametrize("task", [Needle(), Needle(names=2, values=3)], ids=repr)
def test_the_needle_is_found_among_distractors(task: Needle) -> None:
    for length in (1, 2, 7, 50):
        places = Counter[int]()
        for tokens, label in rows(task, length, 400):
            *pairs, asked = tokens
            found = [
                (place, value)
                for place, (name, value) in enumerate(pairs_of(pairs))
                if name == asked
            ]
            assert len(found) == 1
            assert label == found[0][1]
            assert all(task.values <= name < task.vocab for name in pairs[::2])
            assert all(0 <= value < task.values for value in pairs[1::2])
            places[found[0][0]] += 1
        assert set(places) == set(range(length)) or length == 50
        assert max(places.values()) < 400 / length + 5 * (400 / length) ** 0.5 + 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiQueryRecall(keys=1), "keys = 1: expected at least 2"),
        (lambda: MultiQueryRecall(values=1), "values = 1: expected at least 2"),
        (lambda: MultiQueryRecall(slots=0), "slots = 0: expected at least 1"),
        (lambda: MultiQueryRecall(9).draw(torch.tensor(0), 10, 1), "length = 10: .* no more keys"),
        (lambda: MultiTokenRecall(symbols=1), "symbols = 1: expected at least 2"),
        (lambda: MultiTokenRecall(2, 2), "longest = 64: expected at most 4, as there are no more"),
        (lambda: MultiTokenRecall(key_size=0), "key_size = 0: expected at least 1"),
        (lambda: MultiTokenRecall(key_size=6), "key_size = 6: expected so few"),
        (lambda: MultiTokenRecall(blanks=-1), "blanks = -1: expected at least 0"),
        (lambda: FlipFlop(ignore=1.1), r"ignore = 1.1: expected a probability in \[0, 1\]"),
        (lambda: FlipFlop(longest=1), "longest = 1: expected at least 2"),
        (lambda: NBack(symbols=1), "symbols = 1: expected at least 2"),
        (lambda: NBack(back=0), r"back = 0: expected a number of places, 1\.\.255"),
        (lambda: NBack(back=256), r"back = 256: expected a number of places, 1\.\.255"),
        (lambda: Needle(names=1), "names = 1: expected at least 2"),
        (lambda: Needle(values=1), "values = 1: expected at least 2"),
        (lambda: Needle(longest=0), "longest = 0: expected at least 1"),
    ],
)
def test_bad_input_is_one_line(make, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
