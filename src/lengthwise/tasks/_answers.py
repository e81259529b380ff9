"""Tasks whose answer is written out, token by token, behind a prompt."""

from abc import abstractmethod
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

from lengthwise.errors import require
from lengthwise.tasks._base import IGNORE_INDEX, Batch, Tokens, TokenTask


class AnswerTask(TokenTask):
    """A prompt, its answer behind it, and END: each token of the answer is asked for in turn.

    An input is `prompt answer`, where every token of the answer stands behind the place that asks
    for it; the last one asks for END. The answer is a function of the prompt, so that greedy
    decoding writes the right answer exactly where every answer under teacher forcing is right.
    Answers of one length may differ in their own length: they are filled up with END, of which
    only the first is asked for.
    """

    autoregressive = True

    @abstractmethod
    def sizes(self, length: int) -> tuple[int, int]:
        """How many tokens the prompt and the longest answer with its END have; both never fall."""

    @abstractmethod
    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Draw prompts, `(*key.shape, count, prompt size)`."""

    @abstractmethod
    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The answers of prompts, filled up with END: `(..., answer size)`."""

    @property
    @abstractmethod
    def end(self) -> int:
        """The token that ends an answer; behind it, it is padding."""

    def input_size(self, length: int) -> int:
        """The prompt and the answer without its END."""
        return sum(self.sizes(length)) - 1

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Ids of whole inputs that are not 0, 1, ..., such as those of coupled positions."""
        return None

    def mask(self, tokens: Tensor, length: int) -> Tensor | None:
        """False at padding within the prompt, which no other token reads."""
        return None

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Prompts with their answers, and what is asked behind the prompt."""
        shortest, longest = self.lengths[0], self.lengths[-1]
        require(length in self.lengths, "length", length, f"one of {shortest}..{longest}")
        prompts = self.prompts(key, length, count)
        answers = self.answers(prompts, length)
        tokens = torch.cat([prompts, answers[..., :-1]], -1)
        ids, mask = self.position_ids(tokens, length), self.mask(tokens, length)
        plain = ids is None and mask is None
        return Batch(tokens if plain else Tokens(tokens, ids, mask), self._labels(prompts, answers))

    def targets(self, inputs: Tensor | Tokens) -> Tensor:
        """All mass on the one right token at every place that asks."""
        tokens = inputs if isinstance(inputs, Tensor) else inputs.tokens
        length = self.length_of(tokens.shape[-1])
        prompts = tokens[..., : self.sizes(length)[0]]
        labels = self._labels(prompts, self.answers(prompts, length))
        asked = (labels != IGNORE_INDEX).unsqueeze(-1)
        return functional.one_hot(labels.clamp(min=0), self.classes) * asked.to(torch.float32)

    def length_of(self, size: int) -> int:
        """The length of inputs of so many tokens."""
        return _lengths(self)[size]

    def _labels(self, prompts: Tensor, answers: Tensor) -> Tensor:
        """The answers at the places that ask for them: from the end of the prompt to END."""
        ended = (answers == self.end).cumsum(-1)
        behind = (ended - (answers == self.end).to(ended.dtype)) > 0
        nothing = torch.full_like(prompts[..., :-1], IGNORE_INDEX)
        return torch.cat([nothing, answers.masked_fill(behind, IGNORE_INDEX)], -1)


@cache
def _lengths(task: AnswerTask) -> dict[int, int]:
    """Of every input size, its length."""
    return {task.input_size(length): length for length in task.lengths}
