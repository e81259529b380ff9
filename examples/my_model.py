"""A model of one's own: no attention at all, the running mean of what was read and an MLP."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model, model
from lengthwise.remedies import Dropout
from lengthwise.tasks import Task, TokenTask


class RunningMean(nn.Module):
    """Tokens `(batch, length)` in, logits `(batch, length, classes)` out."""

    def __init__(self, vocab: int, classes: int, width: int, dropout: float) -> None:
        """Build the three layers."""
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        # Not nn.Dropout: the masks of a fleet are addressed, so that every run can be repeated.
        self.dropout = Dropout(dropout, "resid_dropout")
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, classes))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits after every place."""
        hidden = self.embedding(tokens)
        places = torch.arange(1, tokens.shape[-1] + 1, device=tokens.device).unsqueeze(-1)
        logits: Tensor = self.mlp(self.dropout(hidden.cumsum(-2) / places))
        return logits


@model("my-running-mean")
@dataclass(frozen=True, kw_only=True)
class MyRunningMean(Model):
    """The running mean of embedded tokens, through an MLP."""

    reads = TokenTask

    width: int = 32
    """Width of both layers."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> nn.Module:
        """An untrained model."""
        assert isinstance(task, TokenTask)
        rate = hyperparameters.resid_dropout
        return RunningMean(task.vocab, task.classes, self.width, rate)
