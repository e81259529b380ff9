"""Losses over answers of which some are missing, whole or in parts."""

from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import InputError
from lengthwise.models import GPT, SetReader
from lengthwise.models.blocks import Size
from lengthwise.tasks import IGNORE_INDEX, ArgmaxRetrieval, Batch, Othello, SetComplement, Task
from lengthwise.training import Fleet, Hyperparameters, Trainer, build_fleet
from lengthwise.training.losses import FleetLoss, count_answers

GAMES = Othello(4)
EVERY = [
    Hyperparameters(seed=1, learning_rate=1e-2, warmup=0, weight_decay=0.1),
    Hyperparameters(seed=2, loss="soft", warmup=5, grad_clip=0.1),
]
SOFT_ONLY = [Hyperparameters(seed=seed, loss="soft") for seed in range(2)]
SAMPLED_ONLY = [Hyperparameters(seed=seed) for seed in range(2)]
CPU = torch.device("cpu")


def gpt(own: Hyperparameters) -> nn.Module:
    return GPT(GAMES.classes, GAMES.lengths[-1], Size(1, 2, 8))


def set_reader(own: Hyperparameters) -> nn.Module:
    task = ArgmaxRetrieval()
    return SetReader(task.item_width, task.query_width, task.classes, width=8)


def make_trainer(build: Any, task: Task, length: int, accumulate: int) -> Trainer:
    fleet = build_fleet(build, EVERY, dtype=torch.float64)
    return Trainer(fleet, task, max_train_length=length, batch=12, steps=15, accumulate=accumulate)


def train(build: Any, task: Task, length: int, accumulate: int) -> Trainer:
    trainer = make_trainer(build, task, length, accumulate)
    trainer.run()
    return trainer


@pytest.mark.parametrize("accumulate", [2, 3, 12])
@pytest.mark.parametrize(
    ("build", "task", "length"), [(gpt, GAMES, 11), (set_reader, ArgmaxRetrieval(), 7)]
)
def test_in_parts_is_as_at_once(build: Any, task: Task, length: int, accumulate: int) -> None:
    whole, parts = train(build, task, length, 1), train(build, task, length, accumulate)
    torch.testing.assert_close(whole.fleet.weights, parts.fleet.weights, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(whole.loss, parts.loss, rtol=1e-6, atol=1e-6)
    assert whole.average is not None
    assert parts.average is not None
    for at in whole.average.grid():
        expected, observed = (t.average.weights_at(*at)["weights"] for t in (whole, parts))  # type: ignore[union-attr]
        torch.testing.assert_close(expected, observed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("accumulate", [2, 3, 12])
def test_parts_differ_in_how_many_answers_they_have(accumulate: int) -> None:
    trainer = make_trainer(gpt, GAMES, 11, accumulate)
    for step in range(trainer.steps):
        batch = trainer._batch(step)
        counts = torch.stack([count_answers(part.labels) for part in batch.parts(accumulate)])
        assert torch.equal(counts.sum(0), count_answers(batch.labels))
        if (counts != counts[0]).any():
            return
    pytest.fail("what is compared above must include such a batch")


@pytest.mark.parametrize("task", [GAMES, ArgmaxRetrieval()], ids=repr)
def test_parts_make_up_the_batch(task: Task) -> None:
    batch = task.draw(torch.tensor([3, 4]), 5, 6)
    parts = list(batch.parts(3))
    assert all(part.labels.shape[:2] == (2, 2) for part in parts)
    assert torch.equal(torch.cat([part.labels for part in parts], 1), batch.labels)
    if isinstance(batch.inputs, Tensor):
        assert torch.equal(torch.cat([part.inputs for part in parts], 1), batch.inputs)
    else:
        for field in ("items", "query"):
            joined = torch.cat([getattr(part.inputs, field) for part in parts], 1)
            assert torch.equal(joined, getattr(batch.inputs, field))


def loss_of(every: list[Hyperparameters], task: Task, logits: Tensor, batch: Any) -> Tensor:
    losses = FleetLoss(task, every, CPU)
    targets = losses.targets(batch.inputs)
    return losses(logits, batch.labels, targets, count_answers(batch.labels))


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([EVERY, SOFT_ONLY, SAMPLED_ONLY]))
def test_the_mean_is_over_the_answers_that_are_asked_for(
    seed: int, every: list[Hyperparameters]
) -> None:
    batch = GAMES.draw(torch.tensor([seed, -seed - 1]), 11, 20)
    missing = batch.labels == IGNORE_INDEX
    assume(missing.any())
    torch.manual_seed(seed)
    logits = torch.randn(*batch.labels.shape, GAMES.classes, dtype=torch.float64)
    targets = GAMES.targets(batch.inputs).double()
    loss = loss_of(every, GAMES, logits, batch)
    for index, own in enumerate(every):
        each = []
        for game, place in (~missing[index]).nonzero().tolist():
            scores = logits[index, game, place].log_softmax(-1)
            if own.loss == "sampled":
                each.append(-scores[batch.labels[index, game, place]])
            else:
                each.append(-(targets[index, game, place] * scores).sum())
        torch.testing.assert_close(loss[index], torch.stack(each).mean(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("every", [EVERY, SOFT_ONLY, SAMPLED_ONLY])
def test_logits_where_nothing_is_asked_do_not_count(every: list[Hyperparameters]) -> None:
    batch = GAMES.draw(torch.tensor([5, 6]), 11, 20)
    missing = (batch.labels == IGNORE_INDEX).unsqueeze(-1)
    torch.manual_seed(0)
    logits = torch.randn(2, 20, 11, GAMES.classes, requires_grad=True)
    changed = torch.where(missing, 50 * torch.randn_like(logits), logits)
    loss = loss_of(every, GAMES, logits, batch)
    assert torch.equal(loss, loss_of(every, GAMES, changed, batch))
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert (gradient.masked_select(missing) == 0).all()
    assert (gradient.masked_select(~missing) != 0).all()


@pytest.mark.parametrize("every", [EVERY, SOFT_ONLY, SAMPLED_ONLY])
def test_games_that_have_all_ended_are_no_loss_and_no_gradient(
    every: list[Hyperparameters],
) -> None:
    batch = GAMES.draw(torch.tensor([9, 10]), 11, 200)
    ended = batch.labels[..., -1] == IGNORE_INDEX
    rows = torch.stack([own.nonzero().flatten()[:3] for own in ended])
    inputs, labels = (
        torch.stack([own[index] for own, index in zip(tensor, rows, strict=True)])
        for tensor in batch
    )
    logits = torch.randn(2, 3, 1, GAMES.classes, requires_grad=True)
    last = Batch(inputs, labels[..., -1:])
    loss = loss_of(every, OnlyTheEnd(), logits, last)
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert (loss == 0).all()
    assert (gradient == 0).all()


class OnlyTheEnd(Othello):
    """Othello on 4 x 4 that asks after the last of the given moves only."""

    def __init__(self) -> None:
        super().__init__(4)

    def targets(self, inputs: Tensor) -> Tensor:
        return super().targets(inputs)[..., -1:, :]


@pytest.mark.parametrize("every", [EVERY, SOFT_ONLY, SAMPLED_ONLY])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_where_all_is_asked_it_is_torchs_mean_bit_for_bit(
    every: list[Hyperparameters], dtype: torch.dtype
) -> None:
    task = SetComplement(16)
    batch = task.draw(torch.tensor([7, 8]), 8, 31)
    torch.manual_seed(1)
    logits = torch.randn(2, 31, 8, 16, dtype=dtype, requires_grad=True)
    targets = task.targets(batch.inputs).to(dtype).flatten(0, -2)
    expected = []
    for index, own in enumerate(every):
        answers = batch.labels.flatten() if own.loss == "sampled" else targets
        each = functional.cross_entropy(logits.flatten(0, -2), answers, reduction="none")
        expected.append(each.view(2, -1).mean(1)[index])
    observed = loss_of(every, task, logits, batch)
    assert torch.equal(observed, torch.stack(expected))
    (theirs,) = torch.autograd.grad(torch.stack(expected).sum(), logits)
    (ours,) = torch.autograd.grad(observed.sum(), logits)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("accumulate", [0, -1, 5, 13])
def test_parts_must_be_equal(accumulate: int) -> None:
    fleet = Fleet([gpt(EVERY[0])])
    expected = f"accumulate = {accumulate}: expected a divisor of batch = 12"
    with pytest.raises(InputError, match=expected):
        Trainer(fleet, GAMES, max_train_length=5, batch=12, steps=1, accumulate=accumulate)
