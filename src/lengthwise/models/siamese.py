"""A siamese encoder: two series through the same transformer, and are they alike?"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, model, position_ids, read_of
from lengthwise.models.blocks import Size, blocks_of, chain_for
from lengthwise.remedies import Dropout
from lengthwise.tasks import PairTask, Task, Tokens

NEIGHBOURS = 3
"""Steps that are embedded together, as in the Reguformer and the Informer."""


class Siamese(nn.Module):
    """Each series is encoded to one vector, and an MLP reads what two vectors have in common.

    A step and its two neighbours are embedded together by a circular convolution, layers are
    norm(x + attention(x)), then norm(x + MLP(x)), every step reads all, and the mean over the steps
    is the vector of a series. The answer is made of the distance of both vectors and of their
    product, feature by feature. (The Reguformer, arXiv 2212.14246, has the same embedding and
    layers; how it compares is ours.)
    """

    def __init__(
        self,
        channels: int,
        classes: int,
        *,
        layers: int = 1,
        heads: int = 4,
        width: int = 32,
        remedies: Sequence[str] = ("sinusoidal",),
        max_length: int = 1024,
        max_train_length: int | None = None,
        embed_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
    ) -> None:
        """Build the model with PyTorch's own initialisation.

        Args:
            channels: Numbers per step.
            classes: Number of answers.
            layers: Number of layers.
            heads: Number of heads.
            width: Width.
            remedies: Names, or paths of Python files; positions are among them.
            max_length: Length of the longest series.
            max_train_length: Length of the longest series of training (default: `max_length`).
            embed_dropout: Dropout rate of the embedded steps.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of what attention and MLP add.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        size = Size(layers, heads, width)
        chain = chain_for(size, remedies, max_length, max_train_length or max_length)
        self.remedies = chain.of_model()
        self.embedding = nn.Linear(NEIGHBOURS * channels, width)
        self.embed_dropout = Dropout(embed_dropout, "embed_dropout")
        self.blocks = blocks_of(
            size, chain, self.remedies, layout="post",
            attention_dropout=attention_dropout, resid_dropout=resid_dropout,
            positions=True, causal=False, tracks=1, model="a siamese encoder",
        )  # fmt: skip
        self.answer = nn.Sequential(
            nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, classes)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits `(batch, classes)` of pairs `(batch, 2, length, channels)`.

        Args:
            inputs: Pairs of series.
        """
        one, other = self.encoded(inputs).unbind(-2)
        common = torch.cat([(one - other).abs(), one * other], -1)
        logits: Tensor = self.answer(common)
        return logits

    def encoded(self, series: Tensor) -> Tensor:
        """`(..., width)` of series `(..., length, channels)`.

        Args:
            series: The series of a pair, or any others.
        """
        flat = series.flatten(0, -3)
        around = torch.cat([flat.roll(1, -2), flat, flat.roll(-1, -2)], -1)
        hidden = self.embedding(around)
        steps = Tokens(around[..., 0])
        ids = position_ids(steps, self.remedies)
        for one in self.remedies:
            hidden = one.embedded(hidden, ids)
        hidden = self.embed_dropout(hidden)
        read = read_of(steps, ids, hidden, self.remedies, causal=False)
        for block in self.blocks:
            hidden = block(hidden, read)
        return hidden.mean(-2).unflatten(0, series.shape[:-2])


@model("siamese")
@dataclass(frozen=True, kw_only=True)
class SiameseModel(Model):
    """A transformer that encodes two series and compares them. Its size is ours."""

    reads = PairTask

    layers: int = 1
    """Number of layers."""

    heads: int = 4
    """Number of heads."""

    width: int = 32
    """Width."""

    remedies: tuple[str, ...] = ("sinusoidal",)
    """Remedies by name, each with options behind a colon (layernorm:place=before), or by the path
    of a Python file; they act in this order. Positions are among them: what is given here takes
    the place of the sinusoidal ones."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> Siamese:
        """An untrained siamese encoder."""
        assert isinstance(task, PairTask)
        return Siamese(
            task.channels,
            task.outputs,
            layers=self.layers,
            heads=self.heads,
            width=self.width,
            remedies=self.remedies,
            max_length=task.lengths[-1],
            max_train_length=max_train_length,
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
        )
