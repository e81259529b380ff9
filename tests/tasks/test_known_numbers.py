"""What tasks say of themselves: how many inputs there are, which answers are how likely, names."""

import pytest
import torch
from torch import Tensor

from lengthwise.registry import TASKS
from lengthwise.runs import recipe_for
from lengthwise.runs.exhausted import exhausted_lengths
from lengthwise.tasks import (
    Addition,
    Cases,
    LocalGlobal,
    Markov,
    Minesweeper,
    Multiplication,
    MultiQueryRecall,
    MultiTokenRecall,
    NBack,
    Needle,
    ParityScratchpad,
    SparseParity,
    StringEdits,
    Successor,
    Task,
    TokenTask,
)

SMALL: list[tuple[TokenTask, int]] = [
    (Addition(), 1),
    (Addition(split="held-out"), 1),
    (Addition(operands=3, hints=4, longest=1, operand_lengths="equal"), 1),
    (Addition(operand_lengths="equal", split="held-out"), 2),
    (Successor(), 1),
    (Successor(split="held-out"), 3),
    (Multiplication(second=1), 2),
    (ParityScratchpad(), 3),
    (ParityScratchpad(), 6),
    (StringEdits(operations=("pop", "remove")), 5),
    (StringEdits(split="held-out"), 4),
    (MultiQueryRecall(keys=3, values=2, slots=2), 2),
    (MultiTokenRecall(symbols=2, value_size=1, queries=2, blanks=1, longest=3), 2),
    (NBack(symbols=3), 4),
    (Needle(names=3, values=2), 3),
    (Cases(4, 2, 0, balanced=False), 3),
    (LocalGlobal(5, 3), 3),
    (SparseParity(marked=2), 4),
    (Markov(symbols=3, reach=4), 4),
]


@pytest.mark.parametrize(("task", "length"), SMALL, ids=repr)
def test_there_are_as_many_inputs_as_is_said_all_alike(task: TokenTask, length: int) -> None:
    number = task.count_inputs(length)
    assert number is not None
    count = 40 * number
    inputs = task.draw(torch.tensor(3), length, count).inputs
    tokens = inputs if isinstance(inputs, Tensor) else inputs.tokens
    observed = tokens.unique(dim=0, return_counts=True)[1]
    assert len(observed) == number
    excess = ((observed - 40) ** 2 / 40).sum() - (number - 1)
    assert excess < 5 * (2 * number) ** 0.5


@pytest.mark.parametrize(
    "task", [Addition(), Addition(spaces=0.1), Cases(), Markov(), Minesweeper()], ids=repr
)
def test_inputs_that_are_not_alike_are_not_counted(task: Task) -> None:
    assert task.count_inputs(20 if isinstance(task, Markov) else 3) is None


@pytest.mark.parametrize(("name", "seen"), [("successor", 4), ("addition", 1), ("n-back", 3)])
def test_lengths_that_training_sees_whole(name: str, seen: int) -> None:
    """At great lengths there are more inputs than a float can hold."""
    found = exhausted_lengths(recipe_for(name))
    assert seen in found
    assert max(found) <= 5


@pytest.mark.parametrize("task", [Needle(names=3, values=5), SparseParity(marked=3)], ids=repr)
def test_answers_are_as_likely_as_is_said(task: Task) -> None:
    for length in (task.lengths[0], 9):
        rates = task.answer_rates(length)
        assert rates is not None
        labels = task.draw(torch.tensor(1), length, 20_000).labels
        assert (labels.bincount(minlength=task.classes) / 20_000 - rates).abs().max() < 0.02


@pytest.mark.parametrize("name", [name for name in TASKS.listed() if name != "language"])
def test_every_token_and_class_has_a_name_of_its_own(name: str) -> None:
    task = TASKS.get(name)()
    if not isinstance(task, TokenTask):
        pytest.skip("no tokens")
    for names, number in ((task.token_names, task.vocab), (task.class_names, task.classes)):
        assert len(names) == number
        assert len(set(names)) == number


@pytest.mark.parametrize(
    "task",
    [
        Addition(positions="coupled"),
        Addition(positions="coupled", operands=12, longest=9, order="plain", padding="none"),
        Successor(positions="coupled"),
        Multiplication(positions="coupled"),
        ParityScratchpad(positions="coupled"),
        Minesweeper(),
    ],
    ids=repr,
)
def test_ids_of_the_longest_inputs_are_in_the_table(task: TokenTask) -> None:
    ids = task.draw(torch.tensor(0), task.lengths[-1], 200).inputs.position_ids
    assert ids.min() == 0
    # The highest one may need a carry that is rare.
    assert task.max_position - 2 <= ids.max() < task.max_position
