"""A GPT that predicts the position of the next token besides the token (after arXiv 2502.16792)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models._base import model, tokens_of
from lengthwise.models.blocks import Size
from lengthwise.models.gpt import GPT, GPTModel
from lengthwise.randomness import at, below, bits, seeded, where
from lengthwise.remedies._chain import names_of
from lengthwise.remedies._keys import Places, ids_like
from lengthwise.remedies.learned import DEVIATION
from lengthwise.tasks import Task, Tokens, TokenTask


class PredictiveGPT(GPT):
    """A GPT with learned positions and a second head, for the position id of the next token.

    In training tokens have the ids that the task gives, moved by a random start per sequence, and
    the loss is that of the token plus that of the next token's id, both wherever something is
    asked. Outside training only the ids of the prompt are read. All others are decoded greedily,
    from the first to the last: the id of a token is what the second head gives at the token before
    it. Tokens themselves are those of the input, so that an answer is right throughout if decoding
    it token by token would give it.
    """

    own_loss = True
    """In training the last of the logits is the loss of the next token's id."""

    key: Tensor
    step: Tensor

    def __init__(
        self,
        vocab: int,
        max_length: int,
        *arguments: Any,
        random_start: bool = True,
        prompt_end: int | None = None,
        predicted: bool = True,
        **settings: Any,
    ) -> None:
        """Build the model.

        Args:
            vocab: Number of tokens.
            max_length: How many position ids there are.
            arguments: Further ones of `GPT`.
            random_start: Whether ids begin at random in training.
            prompt_end: The token that ends the prompt; without it the prompt is the first token.
            predicted: Whether ids behind the prompt are predicted outside training, or are read.
            settings: Further ones of `GPT`.

        Raises:
            InputError: A value is out of range, or remedies do not go together.
        """
        stream = where()
        super().__init__(vocab, max_length, *arguments, **settings)
        if prompt_end is not None:
            require(0 <= prompt_end < vocab, "prompt_end", prompt_end, f"a token, 0..{vocab - 1}")
        self.max_length = max_length
        self.random_start = random_start
        self.prompt_end = prompt_end
        self.predicted = predicted
        # A stream of its own, so that the rest starts out as a plain GPT does.
        with seeded(stream, "second head"):
            self.next_id = nn.Linear(self.tokens.embedding_dim, max_length, bias=False)
            nn.init.normal_(self.next_id.weight, std=DEVIATION)
            self.register_buffer("key", torch.randint(-(2**63), 2**63 - 1, ()))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    @property
    def by_query(self) -> bool:
        """No: the loss of ids is taken everywhere."""
        return False

    def forward(self, inputs: Tensor | Tokens, asked: Places | None = None) -> Tensor:
        """Logits `(batch, length, classes)`, in training with the loss of ids behind them."""
        assert asked is None
        inputs = tokens_of(inputs)
        ids = inputs.position_ids
        if ids is None:
            ids = ids_like(inputs.tokens).expand(inputs.tokens.shape)
        if self.training:
            ids = self._moved(ids)
            hidden = self.trunk(inputs._replace(position_ids=ids))
            loss = self._loss(hidden, ids).unsqueeze(-1)
            return torch.cat([self.unembedding(hidden), loss], -1)
        if self.predicted:
            ids = self.decoded(inputs, ids)
        logits: Tensor = self.unembedding(self.trunk(inputs._replace(position_ids=ids)))
        return logits

    def decoded(self, inputs: Tokens, ids: Tensor) -> Tensor:
        """Position ids `(batch, length)`: given ones of the prompt, then predicted ones."""
        tokens, mask = inputs.tokens, inputs.mask
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        ended = real if self.prompt_end is None else real & (tokens == self.prompt_end)
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        # Padding is passed over: a token's id is predicted where the last real one before it is.
        last = torch.where(real, places, 0).cummax(-1).values
        columns = [ids[..., 0]]
        for place in range(1, tokens.shape[-1]):
            part = None if mask is None else mask[..., :place]
            before = Tokens(tokens[..., :place], torch.stack(columns, -1), part)
            found = self.next_id(self.trunk(before)).argmax(-1)
            predicted = found.gather(-1, last[..., place - 1 : place]).squeeze(-1)
            behind = ended[..., :place].any(-1) & real[..., place]
            columns.append(torch.where(behind, predicted, ids[..., place]))
        return torch.stack(columns, -1)

    def _moved(self, ids: Tensor) -> Tensor:
        """Ids that begin at random, as far from 0 as they may."""
        if not self.random_start:
            return ids
        words = bits(at(self.key, self.step), ids.shape[-2])
        self.step.add_(1)
        return below(words, self.max_length - ids.amax(-1)).unsqueeze(-1) + ids

    def _loss(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """The loss of the next token's id at every place, `(batch, length)`; 0 at the last."""
        logits = self.next_id(hidden[..., :-1, :])
        each = functional.cross_entropy(
            logits.flatten(0, -2), ids[..., 1:].flatten(), reduction="none"
        )
        return functional.pad(each.view(logits.shape[:-1]), (0, 1))


@model("predictive-gpt")
@dataclass(frozen=True, kw_only=True)
class PredictiveModel(GPTModel):
    """Predictive position coupling: a GPT that predicts positions too (after arXiv 2502.16792).

    The paper gives no sizes, weights of the losses or code: the definition is ours. Its positions
    are learned vectors of the ids that the task gives, `learned` among the remedies.
    """

    random_start: bool = True
    """Whether ids begin at random in training."""

    prompt_end: int | None = None
    """The token that ends the prompt, such as the number of '='. Without it the prompt is the first
    token."""

    predicted: bool = True
    """Whether position ids behind the prompt are predicted in tests. If not, those of the task are
    read: plain position coupling, with a second loss in training."""

    def build(
        self, task: Task, hyperparameters: Hyperparameters, max_train_length: int | None = None
    ) -> PredictiveGPT:
        """An untrained model."""
        assert isinstance(task, TokenTask)
        require(self.causal, "causal", self.causal, "True, as positions are predicted in order")
        require(task.tracks == 1, "task", task.name, "one with one position id per token")
        expected = "with 'learned' among them: positions that are predicted need vectors"
        names = names_of(self.remedies)
        require("learned" in names, "remedies", names, expected)
        return PredictiveGPT(
            task.vocab,
            task.max_position,
            Size(self.layers, self.heads, self.width),
            random_start=self.random_start,
            prompt_end=self.prompt_end,
            predicted=self.predicted,
            classes=task.classes,
            layout=self.layout,
            norm=self.norm,
            mlp=self.mlp,
            remedies=self.remedies,
            max_train_length=max_train_length and task.input_size(max_train_length),
            embed_dropout=hyperparameters.embed_dropout,
            attention_dropout=hyperparameters.attention_dropout,
            resid_dropout=hyperparameters.resid_dropout,
        )
