"""Whole legal sets of formal languages, against plain Python."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.measures import baselines, measure_by_length
from lengthwise.measures.distribution import legal_set
from lengthwise.registry import TASKS
from lengthwise.tasks import SetComplement, TokenTask
from lengthwise.tasks._languages import Language

Answer = Callable[[TokenTask, Tensor], Tensor]

LANGUAGES = [name for name in TASKS.listed() if issubclass(TASKS.get(name), Language)]


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=9), st.data())
def test_a_class_is_named_from_half_an_even_share_on(
    logits: list[float], data: st.DataObject
) -> None:
    classes = range(len(logits))
    legal = data.draw(st.sets(st.sampled_from(classes), min_size=1))
    total = sum(map(math.exp, logits))
    named = {one for one in classes if math.exp(logits[one]) / total >= 1 / len(logits) / 2}
    target = torch.tensor([float(one in legal) / len(legal) for one in classes])
    found = legal_set(torch.tensor(logits, dtype=torch.float64), target.double())
    assert found == (named == legal)


class Scripted:
    """One model that answers as a function of the task and the input says."""

    size = 1
    device = torch.device("cpu")
    template = torch.nn.Identity()  # without remedies

    def __init__(self, task: TokenTask, answer: Answer) -> None:
        self.task, self.answer = task, answer

    def takes(self, inputs: Tensor) -> bool:
        return False  # it answers at all places

    def predict(self, inputs: Tensor, weights: Tensor | None = None, asked: None = None) -> Tensor:
        return self.answer(self.task, inputs).unsqueeze(0)


def right(task: TokenTask, inputs: Tensor) -> Tensor:
    return task.targets(inputs).log().clamp(min=-30)


def one_of_them(task: TokenTask, inputs: Tensor) -> Tensor:
    """All on one legal class."""
    return torch.nn.functional.one_hot(task.targets(inputs).argmax(-1), task.classes) * 30.0


def noisy(task: TokenTask, inputs: Tensor) -> Tensor:
    """Often right, and wrong in a way of its own for every token and place."""
    table = torch.randn(task.vocab, 9, task.classes, generator=torch.Generator().manual_seed(8))
    noise = table[inputs, torch.arange(inputs.shape[-1])]
    return (task.targets(inputs) > 0) * 3 + 0.7 * noise


def measured(task: TokenTask, answer: Answer, lengths: list[int]) -> dict[tuple[str, int], float]:
    found = measure_by_length(Scripted(task, answer), task, lengths, inputs=60)  # type: ignore[arg-type]
    return {(one.measure, one.length): one.values.item() for one in found}


@pytest.mark.parametrize("name", LANGUAGES)
def test_who_knows_the_targets_names_all_of_every_set(name: str) -> None:
    task = TASKS.get(name)()
    found = measured(task, right, [1, 9, 40])
    for length in (1, 9, 40):
        assert found["legal_set", length] == found["legal_set_match", length] == 1


def test_one_legal_symbol_is_not_the_set() -> None:
    """What accuracy does not see: (aa)* has a alone at odd places, a and END at even ones."""
    found = measured(TASKS.get("aa-star")(), one_of_them, [1, 2, 3, 4])
    for length in (1, 2, 3, 4):
        assert found["accuracy", length] == 1
        assert found["legal_set", length] == (length % 2 == 0)
        assert found["legal_set_match", length] == 0, "the first place has two"


@pytest.mark.parametrize("name", ["tomita-5", "tomita-6", "012-02"])
def test_a_word_matches_if_all_its_prefixes_do(name: str) -> None:
    task, length = TASKS.get(name)(), 4
    inputs = task.enumerate_inputs(length, 60)
    found = measured(task, noisy, [length])
    asked, last, whole = 0, 0, 0
    for row, logits in zip(task.targets(inputs).tolist(), noisy(task, inputs), strict=True):
        matches = []
        for target, own in zip(row, logits.softmax(-1).tolist(), strict=True):
            named = [one >= 1 / (2 * task.classes) for one in own]
            if any(target):
                matches.append(named == [one > 0 for one in target])
        if any(row[-1]):
            asked, last, whole = asked + 1, last + matches[-1], whole + all(matches)
    assert found["legal_set", length] == pytest.approx(last / asked)
    assert found["legal_set_match", length] == pytest.approx(whole / asked)
    assert last > whole > 0, "some words match at the end only"


def test_baselines_are_those_of_the_best_fixed_sets() -> None:
    """Found by trying all sets, in plain Python."""
    task, length = TASKS.get("tomita-5")(), 5
    inputs = task.enumerate_inputs(length, 8192)
    found = {one.measure: one for one in baselines(task, [length])}
    assert found["legal_set"].exact
    legal = (task.targets(inputs) > 0).tolist()
    rows = [[tuple(place) for place in row] for row in legal]
    every = list(itertools.product((False, True), repeat=task.classes))
    best = max(sum(row[-1] == one for row in rows) for one in every) / len(rows)
    assert found["legal_set"].length_only == pytest.approx(best)
    full = (True,) * task.classes
    assert found["legal_set"].chance == pytest.approx(sum(r[-1] == full for r in rows) / len(rows))
    fixed = itertools.product(*(set(column) for column in zip(*rows, strict=True)))
    whole = max(sum(row == list(one) for row in rows) for one in fixed) / len(rows)
    assert found["legal_set_match"].length_only <= whole + 1e-9
    assert found["legal_set_match"].length_only > 0


def test_other_tasks_have_no_such_measure() -> None:
    task = SetComplement(6)
    assert not any(name.startswith("legal_set") for name, _ in measured(task, right, [3]))
    assert not any(one.measure.startswith("legal_set") for one in baselines(task, [3]))
