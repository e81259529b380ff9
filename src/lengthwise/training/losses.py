"""Losses per model: against the answer that was drawn, or against the exact target."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.tasks import IGNORE_INDEX, Batch, Task


class FleetLoss:
    """Cross-entropy of every model of a fleet, each by its own choice of target."""

    def __init__(
        self,
        task: Task,
        hyperparameters: Sequence[Hyperparameters],
        device: torch.device,
        *,
        own_loss: bool = False,
    ) -> None:
        """Note which models want which target; work that nobody wants is not done.

        Args:
            task: What is answered.
            hyperparameters: Those of every model.
            device: Where the losses are.
            own_loss: Whether the last of the logits is none, but a loss of the model's own, which
                is added wherever something is asked.
        """
        self.task = task
        self._own_loss = own_loss
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
        logits = at_answers(logits, batch.labels.dim())
        own: Tensor | float = 0.0
        if self._own_loss:
            asked = batch.labels != IGNORE_INDEX
            own = (logits[..., -1] * asked).flatten(1).sum(1) / answers
            logits = logits[..., :-1]
        losses = {}
        if self._wanted["sampled"]:
            losses["sampled"] = _sum(logits, batch.labels.flatten()) / answers
        if self._wanted["soft"]:
            targets = self.task.targets(batch.inputs).to(logits.dtype)
            losses["soft"] = _sum(logits, targets.flatten(0, -2)) / answers
        if len(losses) == 1:
            return losses.popitem()[1] + own
        return torch.where(self._soft, losses["soft"], losses["sampled"]) + own


def at_answers(logits: Tensor, dimensions: int) -> Tensor:
    """The logits where labels of so many dimensions are.

    A task that asks once, at the end, has labels without an axis for the length. Of a model that
    answers after every place, the last place then counts.
    """
    return logits[..., -1, :] if logits.dim() == dimensions + 2 else logits


def count_answers(labels: Tensor) -> Tensor:
    """How many answers each model is asked for, `(models,)`; at least 1, to divide by."""
    return (labels != IGNORE_INDEX).flatten(1).sum(1).clamp(min=1)


def _sum(logits: Tensor, target: Tensor) -> Tensor:
    each = functional.cross_entropy(
        logits.flatten(0, -2), target, reduction="none", ignore_index=IGNORE_INDEX
    )
    return each.view(len(logits), -1).sum(1)
