"""The set reader: one query reads a set of items (arXiv 2410.01104, 2504.02827)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import Model, model
from lengthwise.models.attention import Attention, AttentionOutput
from lengthwise.models.items_read import features_of, read_items
from lengthwise.randomness import where
from lengthwise.remedies import Dropout, Keys, Shape
from lengthwise.remedies._chain import Chain, chain_key_maps, require_fit
from lengthwise.tasks import SetInput, SetTask, Task


class SetReader(nn.Module):
    """One query attends to N items, and an MLP names the answer. No positions.

        h_i = psi_x(x_i),  h_q = psi_q(q),  o = W_O sum_i a_i W_V h_i,  logits = phi(norm(o))

    psi_x, psi_q and phi are MLPs of two layers with GELU between them. The last layers of psi_x and
    psi_q have no bias terms: softmax does not see a constant in the keys, and a constant in the
    values is a feature of psi_x that is the same for every item (ours).

    Keys, values and even h_i are never formed: attention is linear in h_i, and h_i is linear in the
    hidden layer of psi_x, so all three matrices are folded into the query and into the one mix that
    attention takes. An item costs the first layer of psi_x and its GELU, nothing else.
    """

    def __init__(
        self,
        item_width: int,
        query_width: int,
        classes: int,
        *,
        width: int = 128,
        heads: int = 1,
        residual: bool = False,
        remedies: Sequence[str] = (),
        attention_dropout: float = 0.0,
        resid_dropout: float = 0.0,
        max_train_length: int = 16,
    ) -> None:
        """Build the model with PyTorch's own initialisation.

        Args:
            item_width: Number of features of an item.
            query_width: Number of features of the query.
            classes: Number of answers.
            width: Width of every layer.
            heads: Number of heads.
            residual: Whether h_q is added to what attention gives out.
            remedies: Names, or paths of Python files; none that needs positions.
            attention_dropout: Dropout rate of the attention weights.
            resid_dropout: Dropout rate of the attention output.
            max_train_length: Most items of a set in training.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        super().__init__()
        for field, value in (("width", width), ("heads", heads)):
            require(value >= 1, field, value, "at least 1")
        require(width % heads == 0, "width", width, f"a multiple of heads = {heads}")
        shape = Shape(
            width=width,
            heads=heads,
            head_width=width // heads // chain_key_maps(remedies),
            value_width=width,
            layer=0,
            max_length=max_train_length,
            max_train_length=max_train_length,
        )
        chain = Chain(remedies, shape, where())
        self.residual = residual
        self.item_encoder = nn.Linear(item_width, width)
        self.item_lift = nn.Linear(width, width, bias=False)
        self.query_encoder = nn.Linear(query_width, width)
        self.query_lift = nn.Linear(width, width, bias=False)
        self.attention = Attention(
            width,
            heads=heads,
            remedies=chain.of_layer(0),
            attention_dropout=Dropout(attention_dropout, "attention_dropout"),
            resid_dropout=Dropout(resid_dropout, "resid_dropout"),
        )
        self.answer = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, classes))
        of_model = chain.of_model()
        every = [*of_model, *self.attention.remedies]
        require_fit(every, positions=False, causal=False, tracks=1, model="a set reader")
        for one in of_model:
            expected = "one with per_layer = True: a set reader has one layer and embeds no tokens"
            require(False, "remedy", one.name, expected)

    def forward(self, inputs: SetInput) -> Tensor:
        """Logits `(batch, classes)`.

        Args:
            inputs: Items and queries.
        """
        encoded = self._encoded(inputs.query)
        read = self._read(encoded, inputs.items.shape[-2])
        attention = self.attention
        if attention.acts("queries_keys"):
            context = self.item_lift(self._features(inputs.items))
            output = attention(encoded.unsqueeze(-2), context, read).squeeze(-2)
            return self.answer(output + encoded if self.residual else output)
        folded = self._folded(encoded, read)
        if not (attention.dropping or attention.maps > 1 or attention.acts(*_BY_SCORES)):
            mixed = read_items(inputs.items, *self._first_layer(), folded)
        else:
            features = self._features(inputs.items)
            scores = self._scores(folded, features, read)
            weights = attention.attention_dropout(self._weights(scores, read))
            mixed = weights @ features
        return self._answer(encoded, mixed)[0]

    def read(self, query: Tensor, length: int, parts: Callable[[], Iterable[Tensor]]) -> "ReadOut":
        """Read a set in parts, so that memory stays bounded at any number of items.

        Softmax is kept running from part to part. Remedies that treat scores or weights may need
        all of them at once, so with them the parts are read a second time.

        Args:
            query: `(batch, query features)`.
            length: Number of items of all parts together.
            parts: Gives the items, `(batch, some, item features)`, part by part.

        Raises:
            InputError: A remedy treats keys, which are never formed here.
        """
        attention = self.attention
        for one in attention.remedies:
            expected = "one that leaves queries and keys alone: sets are read in parts without keys"
            require(not one.acts("queries_keys"), "remedy", one.name, expected)
        encoded = self._encoded(query)
        read = self._read(encoded, length)
        folded = self._folded(encoded, read)
        running = attention.maps == 1 and not attention.acts(*_BY_SCORES)
        top = folded.new_full((*folded.shape[:-1], 1), -torch.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(folded)
        pieces = []
        for items in parts():
            features = self._features(items)
            scores = folded @ features.transpose(-1, -2)
            pieces.append(scores)
            if running:
                higher = torch.maximum(top, scores.amax(-1, keepdim=True))
                shrunk, weights = (top - higher).exp(), (scores - higher).exp()
                total = total * shrunk + weights.sum(-1, keepdim=True)
                mixed = mixed * shrunk + weights @ features
                top = higher
        scores = attention.scores(torch.cat(pieces, -1).unsqueeze(-2), read).squeeze(-2)
        weights = self._weights(scores, read)
        if running:
            mixed = mixed / total
        else:
            sizes = [piece.shape[-1] for piece in pieces]
            shares = zip(parts(), weights.split(sizes, -1), strict=True)
            mixed = sum(share @ self._features(items) for items, share in shares)
        logits, attended = self._answer(encoded, mixed)
        return ReadOut(logits, weights, attended.before_norm, attended.after_norm)

    def _encoded(self, query: Tensor) -> Tensor:
        """The encoded query, `(batch, width)`."""
        encoded: Tensor = self.query_lift(functional.gelu(self.query_encoder(query)))
        return encoded

    def _read(self, encoded: Tensor, length: int) -> Keys:
        """All items are seen, and their number is known before they are."""
        counted = encoded.new_tensor(float(length))
        return Keys(encoded.new_zeros(1, 1), x=encoded.unsqueeze(-2), counted=counted)

    def _folded(self, encoded: Tensor, read: Keys) -> Tensor:
        """What the query compares with features: `(batch, heads * maps, features)`."""
        folded = self.attention.fold(encoded.unsqueeze(-2), self.item_lift.weight)
        return self.attention.scaled(folded, read).squeeze(-2)

    def _features(self, items: Tensor) -> Tensor:
        """The hidden layer of psi_x: all that is ever computed per item."""
        return features_of(items, *self._first_layer())

    def _first_layer(self) -> tuple[Tensor, Tensor]:
        return self.item_encoder.weight, self.item_encoder.bias

    def _scores(self, folded: Tensor, features: Tensor, read: Keys) -> Tensor:
        """Scores `(batch, heads * maps, items)`: heads compare the same features."""
        products = folded @ features.transpose(-1, -2)
        return self.attention.scores(products.unsqueeze(-2), read).squeeze(-2)

    def _weights(self, scores: Tensor, read: Keys) -> Tensor:
        """Attention weights `(batch, heads, items)`."""
        return self.attention.weights(scores.unsqueeze(-2), read).squeeze(-2)

    def _answer(self, encoded: Tensor, mixed: Tensor) -> tuple[Tensor, AttentionOutput]:
        """Logits out of the mix of features, `(batch, heads, features)`."""
        values = self.attention.unfold(mixed.unsqueeze(-2), self.item_lift.weight)
        attended = AttentionOutput(*(one.squeeze(-2) for one in self.attention.finish(values)))
        output = attended.output + encoded if self.residual else attended.output
        return self.answer(output), attended


_BY_SCORES = ("bias", "scores", "weights")
"""Hooks for which scores have to be formed."""


class ReadOut(NamedTuple):
    """An answer with what attention did for it."""

    logits: Tensor
    """`(batch, classes)`."""
    weights: Tensor
    """`(batch, heads, items)`."""
    before_norm: Tensor
    """The attention output before the norm, `(batch, width)`."""
    after_norm: Tensor
    """The attention output after the norm, `(batch, width)`."""


@model("set-reader")
@dataclass(frozen=True, kw_only=True)
class SetReaderModel(Model):
    """One query that reads a set of items; no positions. Widths are those of arXiv 2410.01104."""

    reads = SetTask

    width: int = 128
    """Width of the model."""

    heads: int = 1
    """Number of heads."""

    residual: bool = False
    """Whether the encoded query is added to the attention output."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> SetReader:
        """An untrained set reader."""
        assert isinstance(task, SetTask)
        rate = hyperparameters.embed_dropout
        require(rate == 0, "embed_dropout", rate, "0, as a set reader embeds no tokens")
        return SetReader(
            task.item_width,
            task.query_width,
            task.outputs,
            width=self.width,
            heads=self.heads,
            residual=self.residual,
            remedies=self.remedies,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
            max_train_length=max_train_length or 16,
        )
