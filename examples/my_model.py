"""A model of one's own: no attention at all, the running mean of what was read and an MLP."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise import Hyperparameters
from lengthwise.errors import require
from lengthwise.models import Model, model
from lengthwise.remedies import Dropout
from lengthwise.tasks import Task, Tokens, TokenTask


class RunningMean(nn.Module):
    """Tokens `(batch, length)` in, logits `(batch, length, classes)` out; no positions."""

    def __init__(self, task: TokenTask, width: int, rates: Hyperparameters) -> None:
        """Build the three layers."""
        super().__init__()
        self.embedding = nn.Embedding(task.vocab, width)
        # Not nn.Dropout: the masks of a fleet are addressed, so that every run can be repeated.
        self.embed_dropout = Dropout(rates.embed_dropout, "embed_dropout")
        self.resid_dropout = Dropout(rates.resid_dropout, "resid_dropout")
        answer = nn.Linear(width, task.classes)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU(), answer)

    def forward(self, inputs: Tensor | Tokens) -> Tensor:
        """Logits after every place; padding is not read."""
        tokens, _, mask = inputs if isinstance(inputs, Tokens) else Tokens(inputs)
        seen = (torch.ones_like(tokens) if mask is None else mask).unsqueeze(-1)
        total = (self.embed_dropout(self.embedding(tokens)) * seen).cumsum(-2)
        logits: Tensor = self.mlp(self.resid_dropout(total / seen.cumsum(-2).clamp(min=1)))
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
        rate = hyperparameters.attention_dropout
        require(rate == 0, "attention_dropout", rate, "0, as there is no attention")
        return RunningMean(task, self.width, hyperparameters)
