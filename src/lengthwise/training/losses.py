"""Losses per model: against the answer that was drawn, or against the exact target."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.tasks import IGNORE_INDEX, Batch, Task


class FleetLoss:
    """The loss of every model of a fleet, each by its own choice of target.

    That is the cross-entropy of classes and the squared error of numbers.
    """

    def __init__(
        self, task: Task, hyperparameters: Sequence[Hyperparameters], device: torch.device
    ) -> None:
        """Note which models want which target; work that nobody wants is not done."""
        self.task = task
        soft = [one.loss == "soft" for one in hyperparameters]
        self._soft = torch.tensor(soft, device=device)
        self._wanted = {"soft": any(soft), "sampled": not all(soft)}

    def __call__(self, logits: Tensor, batch: Batch, answers: Tensor) -> Tensor:
        """Mean loss of each model, or the part of it that comes from a part of its batch.

        Args:
            logits: `(models, ..., classes)`; see `at_answers`.
            batch: What the logits answer.
            answers: How many the mean is over, which are those of the whole batch: `(models,)`.

        Returns:
            `(models,)`.
        """
        logits = at_answers(logits, batch.labels.dim() - self.task.numbers)
        each = _squared if self.task.numbers else _cross_entropy
        losses = {}
        if self._wanted["sampled"]:
            losses["sampled"] = each(logits, batch.labels) / answers
        if self._wanted["soft"]:
            targets = self.task.targets(batch.inputs).to(logits.dtype)
            losses["soft"] = each(logits, targets) / answers
        if len(losses) == 1:
            return losses.popitem()[1]
        return torch.where(self._soft, losses["soft"], losses["sampled"])


def at_answers(logits: Tensor, dimensions: int) -> Tensor:
    """The logits where labels of so many dimensions are.

    A task that asks once, at the end, has labels without an axis for the length. Of a model that
    answers after every place, the last place then counts.
    """
    return logits[..., -1, :] if logits.dim() == dimensions + 2 else logits


def count_answers(labels: Tensor) -> Tensor:
    """How many answers each model is asked for, `(models,)`; at least 1, to divide by."""
    if labels.is_floating_point():  # numbers, which are asked for everywhere
        return torch.full((len(labels),), labels[0].numel(), device=labels.device)
    return (labels != IGNORE_INDEX).flatten(1).sum(1).clamp(min=1)


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Its sum over all answers of a model; the target is the classes or their distributions."""
    distributed = target.is_floating_point()
    each = functional.cross_entropy(
        logits.flatten(0, -2),
        target.flatten(0, -2) if distributed else target.flatten(),
        reduction="none",
        ignore_index=IGNORE_INDEX,
    )
    return each.view(len(logits), -1).sum(1)


def _squared(predictions: Tensor, target: Tensor) -> Tensor:
    """The sum of the squared errors of a model."""
    return (predictions - target).square().flatten(1).sum(1)
