"""Answers that are written out are scored both ways, and those that are numbers by their errors."""

import pytest
import torch
from small_tasks import OnesFirst, Parity, RunningMean
from torch import Tensor

from lengthwise.measures import measure_by_length
from lengthwise.models import GPTModel, SiameseModel
from lengthwise.randomness import address, at
from lengthwise.runs import Recipe
from lengthwise.tasks import IGNORE_INDEX, SameWell
from lengthwise.training import Fleet, Hyperparameters, Trainer

SMALL = GPTModel(layers=1, heads=2, width=16)


@pytest.fixture(scope="module")
def writers() -> Fleet:
    """Models that write some answers, not all, and stop at the right place still less often."""
    recipe = Recipe(
        task=OnesFirst(), model=SMALL, min_train_length=2, max_train_length=6, steps=100, batch=16
    )
    trainer = recipe.trainer([Hyperparameters(seed=seed) for seed in range(3)])
    trainer.run()
    return trainer.fleet


def written(model: torch.nn.Module, prompt: Tensor, size: int, *, end: int | None) -> list[int]:
    """Greedy decoding, one token at a time; without `end` it may not stop, and stops at `size`."""
    tokens = prompt.tolist()
    answer: list[int] = []
    while len(answer) < size:
        logits = model(torch.tensor([tokens]))[0, -1]
        if end is None:
            logits[OnesFirst.end] = -torch.inf
        answer.append(int(logits.argmax()))
        if answer[-1] == end:
            break
        tokens.append(answer[-1])
    return answer


@pytest.mark.parametrize("length", [3, 7])
def test_both_scores_are_those_of_greedy_decoding(writers: Fleet, length: int) -> None:
    task, count = OnesFirst(), 40
    found = {
        one.measure: one for one in measure_by_length(writers, task, [length], inputs=count, seed=3)
    }
    stream = torch.tensor(address(3, "test", length))
    inputs, labels = task.draw(at(stream, 0), length, count)
    for number, model in enumerate(writers.models()):
        stops, given = 0, 0
        for row, right in zip(inputs, labels, strict=True):
            answer = right[right != IGNORE_INDEX].tolist()
            prompt = row[: length + 1]
            stops += written(model, prompt, length + 3, end=task.end) == answer
            given += written(model, prompt, len(answer) - 1, end=None) == answer[:-1]
        assert float(found["exact_match"].values[number]) == pytest.approx(stops / count)
        expected = pytest.approx(given / count)
        assert float(found["exact_match_length_given"].values[number]) == expected
    assert (found["exact_match"].values <= found["exact_match_length_given"].values).all()
    assert (found["exact_match"].values < 1).any(), "or this test tests nothing"
    assert found["exact_match"].inputs == found["exact_match_length_given"].inputs == count


def test_without_an_end_there_is_one_score() -> None:
    fleet = Recipe(task=Parity(), model=SMALL, max_train_length=5).fleet([Hyperparameters()])
    names = {one.measure for one in measure_by_length(fleet, Parity(), [3], inputs=8)}
    assert "exact_match" in names
    assert "exact_match_length_given" not in names


def numbers(loss: str = "sampled") -> Trainer:
    recipe = Recipe(task=RunningMean(), model=SMALL, max_train_length=5, batch=8, steps=3)
    every = [Hyperparameters(seed=seed, loss=loss) for seed in range(2)]  # type: ignore[arg-type]
    return recipe.trainer(every)


@pytest.mark.parametrize("length", [1, 4, 7])
def test_numbers_are_measured_by_their_squared_error(length: int) -> None:
    fleet, task = numbers().fleet, RunningMean()
    found = {one.measure: one for one in measure_by_length(fleet, task, [length, 7], inputs=30)
             if one.length == length}  # fmt: skip
    assert set(found) == {"mse", "excess_mse"}
    inputs = task.draw(torch.tensor(address(0, "test")), 7, 30).inputs
    for number, model in enumerate(fleet.models()):
        predicted = model(inputs)[:, length - 1].double()
        mean = inputs[:, :length].double().mean(1)
        errors = torch.stack([predicted[:, 0] - mean, predicted[:, 1] + mean]).square()
        expected = float(errors.mean().detach())
        assert float(found["excess_mse"].values[number]) == pytest.approx(expected, rel=1e-5)
        assert float(found["mse"].values[number]) == pytest.approx(expected + 1 / 12, rel=1e-5)
        assert found["mse"].inputs == 30


@pytest.mark.parametrize("loss", ["sampled", "soft"])
def test_numbers_are_trained_by_their_squared_error(loss: str) -> None:
    trainer = numbers(loss)
    models = trainer.fleet.models()
    batch = trainer._batch(0)
    trainer.step()
    for number, model in enumerate(models):
        inputs, labels = batch.at(number)
        wanted = labels if loss == "sampled" else RunningMean().targets(inputs)
        expected = float((model(inputs) - wanted).square().mean().detach())
        assert float(trainer.loss[number]) == pytest.approx(expected, rel=1e-5)


def test_graded_answers_are_neither_right_nor_wrong() -> None:
    """The most probable answer counts by its mass in the target."""
    task = SameWell(wells=3)
    model = SiameseModel(layers=1, heads=1, width=4)
    fleet = Recipe(task=task, model=model, max_train_length=9).fleet([Hyperparameters()])
    found = {one.measure: one for one in measure_by_length(fleet, task, [9], inputs=30)}
    assert set(found) == {"tvd", "kl", "expected_accuracy"}
    inputs = task.draw(at(torch.tensor(address(0, "test", 9)), 0), 9, 30).inputs
    chosen = fleet.model(0)(inputs).argmax(-1)
    masses = [float(row[one]) for row, one in zip(task.targets(inputs), chosen, strict=True)]
    assert float(found["expected_accuracy"].values) == pytest.approx(sum(masses) / 30)
    assert found["tvd"].inputs == 30
