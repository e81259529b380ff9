"""Lengths of which training sees every input are named."""

import itertools
import math

import pytest
import torch
from small_tasks import OnesFirst, Parity, PrefixParity

from lengthwise.models import GPTModel
from lengthwise.randomness import address
from lengthwise.registry import TASKS
from lengthwise.runs import Recipe, recipe_for
from lengthwise.runs.exhausted import count_by_drawing, exhausted_lengths, exhausted_note, ranges
from lengthwise.tasks import ArgmaxRetrieval, SetComplement, Task

SMALL = GPTModel(layers=1, heads=1, width=4)


def recipe(task: Task, longest: int, **settings: int) -> Recipe:
    return Recipe(task=task, model=SMALL, max_train_length=longest, **settings)  # type: ignore[arg-type]


def test_a_training_that_long_sees_them_all_and_a_shorter_one_does_not() -> None:
    """Draw the training's inputs, and look."""
    task = SetComplement(7)
    for steps in (5, 40, 400):
        own = recipe(task, 4, steps=steps, batch=8)
        drawn = task.draw(torch.tensor(address("a training")), 4, steps * 8).inputs
        for length in range(1, 5):
            seen = len(drawn[:, :length].unique(dim=0))
            expected = math.perm(7, length)
            assert (length in exhausted_lengths(own)) == (seen == expected), (steps, length)


def test_where_nobody_counts_some_are_drawn() -> None:
    own = recipe(Parity(), 5, min_train_length=3, steps=8000)
    assert Parity().count_inputs(3) is None
    assert exhausted_lengths(own) == {3: 8, 4: 16, 5: 32}
    assert exhausted_lengths(recipe(Parity(), 5, min_train_length=3, steps=10)) == {}
    assert count_by_drawing(OnesFirst(), 2) == 4


def test_every_prefix_of_a_longer_input_counts() -> None:
    own = recipe(PrefixParity(), 6, steps=8000)
    assert set(exhausted_lengths(own)) == {3, 4, 5, 6}


def test_inputs_that_are_numbers_never_come_back() -> None:
    assert exhausted_lengths(recipe_for(ArgmaxRetrieval())) == {}


def test_the_note_says_which_and_how_many() -> None:
    note = exhausted_note(recipe(SetComplement(7), 4, steps=8000))
    assert note is not None
    assert "1..4" in note
    assert "of length 4 there are 840 inputs), and memory can pass for skill" in note
    assert exhausted_note(recipe(SetComplement(30), 20, steps=1)) is None


def test_where_tests_draw_other_inputs_the_note_says_so() -> None:
    note = exhausted_note(recipe_for("addition"))
    assert note is not None
    assert note.endswith("of length 1 there are 90 inputs), and tests draw others")


def test_whole_numbers_in_words() -> None:
    assert ranges([1, 2, 3, 5, 8, 7]) == "1..3, 5, 7..8"
    assert ranges([]) == ""


@pytest.mark.parametrize("name", TASKS.listed())
def test_a_count_is_that_of_the_enumeration(name: str) -> None:
    task = TASKS.get(name)()
    for length in itertools.islice(task.lengths, 3):
        count, every = task.count_inputs(length), task.enumerate_inputs(length, 1 << 12)
        assert every is None or count == len(every)
        drawn = count_by_drawing(task, length)
        assert None in (drawn, count) or drawn == count
