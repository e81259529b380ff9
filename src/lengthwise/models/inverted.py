"""The iTransformer: attention over series instead of over times (arXiv 2310.06625)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, model
from lengthwise.models.blocks import Size, blocks_of, chain_for
from lengthwise.remedies import Dropout, Keys
from lengthwise.tasks import Series, SeriesTask, Task

EPSILON = 1e-5
"""Added to the variance of a series before it is divided by its deviation."""


class InvertedTransformer(nn.Module):
    """Each series is one token: its whole window, through one linear layer. No positions.

    Series are standardised over their window, and what is predicted is brought back. Layers are
    norm(x + attention(x)), then norm(x + MLP(x)), and every series reads all. The MLP is four times
    as wide, with GELU; a last norm and a linear layer give all times to come at once. (Calendar
    features, which the paper appends as further tokens, are left out.)
    """

    def __init__(
        self,
        window: int,
        horizon: int,
        *,
        layers: int = 2,
        heads: int = 4,
        width: int = 64,
        alone: bool = False,
        remedies: Sequence[str] = (),
        max_length: int = 512,
        max_train_length: int = 16,
        embed_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
    ) -> None:
        """Build the model with PyTorch's own initialisation, as the paper's code does.

        Args:
            window: Times that are seen.
            horizon: Times that are predicted.
            layers: Number of layers.
            heads: Number of heads.
            width: Width.
            alone: Whether every series reads itself only.
            remedies: Names, or paths of Python files; none that needs positions.
            max_length: Most series of an input.
            max_train_length: Most series of an input in training.
            embed_dropout: Dropout rate of the embedded series.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of what attention and MLP add.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        size = Size(layers, heads, width)
        chain = chain_for(size, remedies, max_length, max_train_length)
        self.alone = alone
        self.remedies = chain.of_model()
        self.embedding = nn.Linear(window, width)
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.blocks = blocks_of(
            size, chain, self.remedies, layout="post",
            attention_dropout=attention_dropout, resid_dropout=resid_dropout,
            positions=False, causal=False, tracks=1, model="an iTransformer",
        )  # fmt: skip
        for one in self.remedies:
            expected = "one with per_layer = True: series have no ids, and are embedded as a whole"
            require(False, "remedy", one.name, expected)
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, horizon)

    def forward(self, inputs: Series) -> Tensor:
        """What is to come, `(batch, variates, horizon)`, of values `(batch, variates, window)`.

        Args:
            inputs: The values that were seen.
        """
        values = inputs.values
        mean = values.mean(-1, keepdim=True)
        deviation = (values.var(-1, unbiased=False, keepdim=True) + EPSILON).sqrt()
        hidden = self.embed_dropout(self.embedding((values - mean) / deviation))
        count = values.shape[-2]
        seen = torch.zeros(count, count, dtype=hidden.dtype, device=hidden.device)
        if self.alone:
            others = ~torch.eye(count, dtype=torch.bool, device=hidden.device)
            seen = seen.masked_fill(others, -torch.inf)
        for block in self.blocks:
            hidden = block(hidden, Keys(seen))
        predicted: Tensor = self.projection(self.norm(hidden)) * deviation + mean
        return predicted


@model("inverted")
@dataclass(frozen=True, kw_only=True)
class InvertedModel(Model):
    """An iTransformer, which reads series as tokens, with any remedies that need no positions."""

    reads = SeriesTask

    layers: int = 2
    """Number of layers, as in the paper."""

    heads: int = 4
    """Number of heads; the paper has 8."""

    width: int = 64
    """Width; that of the paper is 512."""

    alone: bool = False
    """Whether every series is predicted from itself only, by the same layers: the baseline that
    shows what the others tell. (The paper's own reads the times of a series by a transformer.)"""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> InvertedTransformer:
        """An untrained iTransformer."""
        assert isinstance(task, SeriesTask)
        return InvertedTransformer(
            task.window,
            task.outputs,
            layers=self.layers,
            heads=self.heads,
            width=self.width,
            alone=self.alone,
            remedies=self.remedies,
            max_length=task.lengths[-1],
            max_train_length=max_train_length or task.lengths[-1],
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
        )
