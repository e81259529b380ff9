"""Losses per model: against the answer that was drawn, or against the exact target."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.remedies._keys import Places
from lengthwise.tasks import IGNORE_INDEX, Task


class FleetLoss:
    """The loss of every model of a fleet, each by its own choice of target.

    That is the cross-entropy of classes and the squared error of numbers.
    """

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

    def targets(self, inputs: Any) -> Tensor | None:
        """The exact targets of inputs, or None where no model wants them.

        Args:
            inputs: What the models read.
        """
        return self.task.targets(inputs) if self._wanted["soft"] else None

    def __call__(
        self,
        logits: Tensor,
        labels: Tensor,
        targets: Tensor | None,
        answers: Tensor,
        asked: Places | None = None,
    ) -> Tensor:
        """Mean loss of each model, or the part of it that comes from a part of its batch.

        Args:
            logits: `(models, ..., classes)`; see `at_answers`.
            labels: The answers that were drawn.
            targets: What `targets` gave.
            answers: How many the mean is over, which are those of the whole batch: `(models,)`.
            asked: With it, the logits are those at these places, and nothing is asked elsewhere.

        Returns:
            `(models,)`.
        """
        labels = labels if asked is None else labels[..., asked]
        logits = at_answers(logits, labels.dim() - self.task.numbers)
        own: Tensor | float = 0.0
        if self._own_loss:
            counts = labels != IGNORE_INDEX
            own = (logits[..., -1] * counts).flatten(1).sum(1) / answers
            logits = logits[..., :-1]
        each = _squared if self.task.numbers else _cross_entropy
        losses = {}
        if self._wanted["sampled"]:
            losses["sampled"] = each(logits, labels) / answers
        if targets is not None:
            targets = targets.to(logits.dtype)
            targets = targets if asked is None else targets[..., asked, :]
            losses["soft"] = each(logits, targets) / answers
        if len(losses) == 1:
            return losses.popitem()[1] + own
        return torch.where(self._soft, losses["soft"], losses["sampled"]) + own


def at_answers(logits: Tensor, dimensions: int) -> Tensor:
    """The logits where labels of so many dimensions are.

    A task that asks once, at the end, has labels without an axis for the length. Of a model that
    answers after every place, the last place then counts.
    """
    return logits[..., -1, :] if logits.dim() == dimensions + 2 else logits


def places_asked(labels: Tensor) -> Places | None:
    """The places of labels `(models, batch, length)` at which anything is asked, as `places_of`."""
    return places_of(labels != IGNORE_INDEX)


def places_of(asked: Tensor) -> Places | None:
    """The places at which anything is asked in any row of `asked`, `(..., length)`.

    None where that is everywhere. Where they are evenly spaced, as at the end of an input or at
    every second place, they are a slice, which copies nothing.
    """
    places = asked.flatten(0, -2).any(0).nonzero().squeeze(1)
    count = len(places)
    if count == asked.shape[-1] or count == 0:
        return None
    first, last = int(places[0]), int(places[-1])
    step = int(places[1]) - first if count > 1 else 1
    if bool((places.diff() == step).all()):
        return slice(first, last + 1, step)
    return places


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
