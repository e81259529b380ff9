"""The suite of models finds what is wrong with a model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model
from lengthwise.models._base import tokens_of
from lengthwise.remedies import Dropout
from lengthwise.runs import Recipe
from lengthwise.tasks import SetComplement, Task, TokenTask
from lengthwise.testing import ModelConformance

SUITE = ModelConformance()


class Mean(nn.Module):
    """The mean of the embedded tokens seen so far, and what may be wrong with it."""

    def __init__(self, task: TokenTask, rate: float, wrong: str) -> None:
        super().__init__()
        self.wrong = wrong
        self.embedding = nn.Embedding(task.vocab, 8)
        self.answer = nn.Linear(8, task.classes)
        self.dropout = Dropout(rate)

    def forward(self, inputs: Any) -> Tensor:
        tokens, _, mask = tokens_of(inputs)
        seen = torch.ones_like(tokens) if mask is None or self.wrong == "padding" else mask
        hidden = self.dropout(self.embedding(tokens) * seen.unsqueeze(-1))
        if self.wrong == "later":
            return self.answer(hidden.mean(1, keepdim=True) + hidden)
        total = seen.cumsum(1).clamp(min=1).unsqueeze(-1)
        logits: Tensor = self.answer(hidden.cumsum(1) / total)
        return logits[..., :-1] if self.wrong == "answers" else logits


@dataclass(frozen=True, kw_only=True)
class MeanModel(Model):
    name = "mean"
    reads = TokenTask
    wrong: str = ""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> Mean:
        assert isinstance(task, TokenTask)
        rate = 0.0 if self.wrong == "dropout" else hyperparameters.embed_dropout
        if self.wrong == "seed":
            torch.manual_seed(0)
        return Mean(task, rate, self.wrong)


class TestRight(ModelConformance):
    """Nothing is wrong with it, but that it has one dropout of three and no one is told."""

    models = (MeanModel(),)

    def rates(self, model: Model) -> list[str]:
        return ["embed_dropout"]


BROKEN: dict[str, Callable[[Model], None]] = {
    "later": SUITE.test_no_answer_depends_on_later_tokens,
    "padding": SUITE.test_position_ids_and_padding,
    "answers": SUITE.test_it_answers_every_task_that_it_reads,
    "dropout": SUITE.test_dropout_rates_act_per_model_and_in_training_only,
    "seed": SUITE.test_initial_weights_follow_the_seed,
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_what_is_wrong_is_found(wrong: str) -> None:
    with pytest.raises((AssertionError, InputError)):
        BROKEN[wrong](MeanModel(wrong=wrong))


def test_a_recipe_does_not_leave_a_remedy_out() -> None:
    message = "remedies = 'rotary': expected none that model 'mean' leaves out"
    with pytest.raises(InputError, match=message):
        Recipe(task=SetComplement(7), model=MeanModel(remedies=("rotary",)), max_train_length=3)


def test_a_model_of_a_class_that_cannot_be_found_again_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception):
        SUITE.test_a_file_brings_it_back(MeanModel(), tmp_path)
