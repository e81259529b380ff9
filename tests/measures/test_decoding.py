"""Greedy decoding against exact match under teacher forcing, and the sizes of what is written."""

from typing import Any

import pytest
import torch

from lengthwise import Hyperparameters
from lengthwise.errors import InputError
from lengthwise.measures import measure_by_length
from lengthwise.measures.decoding import greedy, measure_greedy, written_sizes
from lengthwise.models import EncoderDecoderModel, GPTModel
from lengthwise.runs import Recipe
from lengthwise.tasks import IGNORE_INDEX, Addition, AnswerTask, StringEdits, Successor

SMALL: dict[str, Any] = {"layers": 1, "heads": 2, "width": 16}
MODELS = (
    GPTModel(**SMALL),
    EncoderDecoderModel(**SMALL, encoder_layers=1, remedies=("learned",)),
)
TASKS = (
    Successor(longest=6),
    Addition(padding="none", longest=3),
    StringEdits(operations=("pop", "push"), longest=6),
)


def trained(task: AnswerTask, model: Any, length: int = 2) -> Any:
    """A fleet that gets some answers right and others wrong."""
    recipe = Recipe(task=task, model=model, max_train_length=length, steps=60, batch=32)
    trainer = recipe.trainer([Hyperparameters(seed=s, learning_rate=1e-2) for s in (0, 1)])
    trainer.run()
    return trainer.fleet


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
@pytest.mark.parametrize("task", TASKS, ids=lambda one: one.name)
def test_an_answer_is_right_exactly_if_all_of_it_is_right_under_teacher_forcing(
    task: AnswerTask, model: Any
) -> None:
    """Prompt by prompt; and the first wrong token is the same both ways."""
    fleet, right = trained(task, model), []
    for length in (1, 2, 3):
        batch = task.draw(torch.tensor(length), length, 64)
        prompts = task.prompts(torch.tensor(length), length, 64)
        answers = task.answers(prompts, length)
        asked = batch.labels != IGNORE_INDEX
        for one in fleet.models():
            forced = one(batch.inputs).argmax(-1)
            written = greedy(one, task, prompts, answers.shape[-1])
            for row, places in enumerate(asked):
                told, wanted = forced[row][places], batch.labels[row][places]
                assert torch.equal(wanted, answers[row][: len(wanted)])
                wrong = (told != wanted).nonzero()
                upto = int(wrong[0]) + 1 if len(wrong) else len(wanted)
                assert torch.equal(written[row][:upto], told[:upto])
                right.append(not len(wrong))
                if not len(wrong):
                    assert torch.equal(written[row], answers[row])
    assert any(right) or task.name == "addition", "or the test tells nothing"
    assert not all(right)


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.name)
def test_matches_are_those_of_the_other_measure(model: Any) -> None:
    task = Successor(longest=4)
    fleet = trained(task, model)
    forced = {
        one.length: one.values
        for one in measure_by_length(fleet, task, (2, 3), inputs=300)
        if one.measure == "exact_match"
    }
    found = {
        one.length: one
        for one in measure_greedy(fleet, task, (2, 3), inputs=300)
        if one.measure == "exact_match"
    }
    for length, values in forced.items():
        assert torch.equal(found[length].values, values)
        assert found[length].inputs == 300
    assert 0 < float(forced[2].mean()) < 1


class Always(torch.nn.Module):
    """Writes one letter so many times, then END, whatever it reads."""

    def __init__(self, task: AnswerTask, count: int) -> None:
        super().__init__()
        self.task, self.count = task, count

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        behind = torch.arange(rows.shape[-1]) - (rows == 3).int().argmax(-1, keepdim=True)
        token = torch.where(behind < self.count, 0, self.task.end)
        return torch.nn.functional.one_hot(token, self.task.classes).double()


@pytest.mark.parametrize(("count", "most", "size"), [(0, 9, 0), (4, 9, 4), (9, 5, 5)])
def test_sizes_are_counted_up_to_the_end(count: int, most: int, size: int) -> None:
    task = StringEdits(operations=("id",), longest=10)
    prompts = task.prompts(torch.tensor(1), 5, 7)
    written = greedy(Always(task, count), task, prompts, most)
    assert written.shape == (7, most)
    assert written_sizes(written, task.end).tolist() == [size] * 7


def test_what_is_as_long_as_it_should_be_has_a_ratio_of_one() -> None:
    task = StringEdits(operations=("pop",), longest=10)

    class Fleet:
        device = torch.device("cpu")

        def models(self, weights: object) -> list[torch.nn.Module]:
            return [Always(task, 4), Always(task, 2)]

    found = {
        (one.measure, one.length): one.values.tolist()
        for one in measure_greedy(Fleet(), task, (1, 5, 9), inputs=50)  # type: ignore[arg-type]
    }
    assert found["length_ratio", 5] == [1.0, 0.5]
    assert found["length_ratio", 9] == [0.5, 0.25]
    assert ("length_ratio", 1) not in found, "no answer has any letter"
    assert found["exact_match", 1] == [0.0, 0.0]


def test_what_cannot_be_decoded_is_named() -> None:
    task = Successor(longest=3)
    model = GPTModel(**SMALL).build(task, Hyperparameters())
    prompts = task.prompts(torch.tensor(0), 3, 2)
    with pytest.raises(InputError, match="most = 6: expected at most 5: no more tokens have"):
        greedy(model, task, prompts, 6)
    coupled = Successor(longest=9, positions="coupled")
    with pytest.raises(InputError, match="task = 'successor': expected one whose tokens stand"):
        greedy(model, coupled, coupled.prompts(torch.tensor(0), 3, 2), 4)
