"""String edits against Python's own strings."""

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from written import Written, written

from lengthwise.errors import InputError
from lengthwise.runs import recipe_for
from lengthwise.tasks import StringEdits
from lengthwise.tasks.string_edits import OPERATIONS

NAMES = "ipPsurdfFx"
"""A letter for each operation, in the order of `OPERATIONS`."""

FLIP = str.maketrans("ab", "ba")

EDITS: dict[str, Callable[[str, str], str]] = {
    "id": lambda x, letter: x,
    "push": lambda x, letter: x + letter,
    "pop": lambda x, letter: x[:-1],
    "shift": lambda x, letter: x[1:],
    "unshift": lambda x, letter: letter + x,
    "reverse": lambda x, letter: "".join(reversed(x)),
    "duplicate": lambda x, letter: x * 2,
    "flip": lambda x, letter: x.translate(FLIP),
    "flip-reverse": lambda x, letter: "".join(reversed(x.translate(FLIP))),
    "remove": lambda x, letter: x.replace(letter, ""),
}


def rows(task: StringEdits, length: int, count: int) -> list[Written]:
    return written(task, length, count, "ab.|" + NAMES, ".")


@pytest.mark.parametrize("length", [1, 2, 3, 4, 11, 15, 40])
def test_all_operations_together(length: int) -> None:
    seen = Counter[str]()
    for prompt, answer, _ in rows(StringEdits(), length, 1000):
        assert prompt[-1] == "|"
        operation, letter, string = OPERATIONS[NAMES.index(prompt[0])], prompt[1], prompt[2:-1]
        assert len(string) == length
        assert set(letter + string) <= {"a", "b"}
        assert answer == EDITS[operation](string, letter)
        seen[operation + letter] += 1
    assert len(seen) == 20
    assert max(abs(one - 50) for one in seen.values()) < 5 * 50**0.5


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_alone(operation: str) -> None:
    """Of any length, up to the last one: `unshift` too."""
    task = StringEdits(operations=(operation,), longest=20)
    for length in (1, 5, 20):
        for prompt, answer, _ in rows(task, length, 60):
            assert answer == EDITS[operation](prompt[2:-1], prompt[1])


def test_the_answer_is_no_longer_than_it_must_be() -> None:
    assert StringEdits(operations=("reverse", "pop")).input_size(10) == 13 + 11
    assert StringEdits(operations=("duplicate",)).input_size(10) == 13 + 20


@pytest.mark.parametrize(
    ("piece", "length", "pieces"), [(1, 2, 2), (15, 15, 1), (15, 16, 2), (15, 23, 2), (4, 10, 3)]
)
def test_joined_edits_are_answered_one_behind_the_other(
    piece: int, length: int, pieces: int
) -> None:
    for prompt, answer, _ in rows(StringEdits(piece=piece), length, 300):
        assert prompt[-1] == "|"
        starts = [place for place, sign in enumerate(prompt) if sign in NAMES]
        strings, expected = [], ""
        for first, last in zip(starts, [*starts[1:], len(prompt) - 1], strict=True):
            strings.append(prompt[first + 2 : last])
            operation = OPERATIONS[NAMES.index(prompt[first])]
            expected += EDITS[operation](strings[-1], prompt[first + 1])
        assert answer == expected
        assert len(strings) == pieces
        sizes = [len(one) for one in strings]
        assert sum(sizes) == length
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= piece


def test_strings_of_tests_are_new() -> None:
    task = StringEdits()
    train, held_out = (
        {tuple(row[2:-1]) for row in one.prompts(torch.tensor(2), 8, 20_000).tolist()}
        for one in (task, task.held_out())
    )
    assert not train & held_out
    assert (len(train), len(held_out)) == (224, 32)


def test_it_is_trained_in_a_band() -> None:
    recipe = recipe_for("string-edits")
    assert (recipe.min_train_length, recipe.max_train_length) == (11, 15)
    assert min(recipe.test_lengths) < 11
    assert max(recipe.test_lengths) > 15


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"operations": ()}, r"operations = \(\): expected at least one"),
        ({"operations": ("revers",)}, "operations = 'revers': did you mean 'reverse'"),
        ({"operations": ("pop", "pop")}, "expected each but once"),
        ({"longest": 0}, "longest = 0: expected at least 1"),
        ({"piece": 0}, "piece = 0: expected at least 1"),
        ({"split": "test"}, "split = 'test'"),
    ],
)
def test_bad_input_is_one_line(fields: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        StringEdits(**fields)
