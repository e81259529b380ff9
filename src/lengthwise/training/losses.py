"""Losses per model: against the token that was drawn, or against the exact target."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.tasks import Inputs, Task
from lengthwise.training.hyperparameters import Hyperparameters


class FleetLoss:
    """Cross-entropy of every model of a fleet, each by its own choice of target."""

    def __init__(self, task: Task, members: Sequence[Hyperparameters], device: torch.device):
        """Note which members want which target; work that nobody wants is not done."""
        self.task = task
        exact = [member.loss == "exact" for member in members]
        self._exact = torch.tensor(exact, device=device)
        self._wanted = {"exact": any(exact), "drawn": not all(exact)}

    def __call__(self, logits: Tensor, inputs: Inputs, drawn: Tensor) -> Tensor:
        """Mean loss of each model over all answers of its batch: `(models,)`."""
        losses = {}
        if self._wanted["drawn"]:
            losses["drawn"] = _mean(logits, drawn.flatten())
        if self._wanted["exact"]:
            targets = self.task.targets(inputs).to(logits.dtype)
            losses["exact"] = _mean(logits, targets.flatten(0, -2))
        if len(losses) == 1:
            return losses.popitem()[1]
        return torch.where(self._exact, losses["exact"], losses["drawn"])


def _mean(logits: Tensor, target: Tensor) -> Tensor:
    each = functional.cross_entropy(logits.flatten(0, -2), target, reduction="none")
    return each.view(len(logits), -1).mean(1)
