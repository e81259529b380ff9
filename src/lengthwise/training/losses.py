"""Losses per model: against the token that was drawn, or against the exact target."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.tasks import NO_ANSWER, Batch, Task
from lengthwise.training.hyperparameters import Hyperparameters


class FleetLoss:
    """Cross-entropy of every model of a fleet, each by its own choice of target."""

    def __init__(self, task: Task, members: Sequence[Hyperparameters], device: torch.device):
        """Note which members want which target; work that nobody wants is not done."""
        self.task = task
        exact = [member.loss == "exact" for member in members]
        self._exact = torch.tensor(exact, device=device)
        self._wanted = {"exact": any(exact), "drawn": not all(exact)}

    def __call__(self, logits: Tensor, batch: Batch[Any], answers: Tensor) -> Tensor:
        """Mean loss of each model, or the part of it that comes from a part of its batch.

        Args:
            logits: `(models, ..., classes)`.
            batch: What the logits answer.
            answers: How many the mean is over, which are those of the whole batch: `(models,)`.

        Returns:
            `(models,)`.
        """
        losses = {}
        if self._wanted["drawn"]:
            losses["drawn"] = _sum(logits, batch.drawn.flatten()) / answers
        if self._wanted["exact"]:
            targets = self.task.targets(batch.inputs).to(logits.dtype)
            losses["exact"] = _sum(logits, targets.flatten(0, -2)) / answers
        if len(losses) == 1:
            return losses.popitem()[1]
        return torch.where(self._exact, losses["exact"], losses["drawn"])


def count_answers(drawn: Tensor) -> Tensor:
    """How many answers each model is asked for, `(models,)`; at least 1, to divide by."""
    return (drawn != NO_ANSWER).flatten(1).sum(1).clamp(min=1)


def _sum(logits: Tensor, target: Tensor) -> Tensor:
    each = functional.cross_entropy(
        logits.flatten(0, -2), target, reduction="none", ignore_index=NO_ANSWER
    )
    return each.view(len(logits), -1).sum(1)
