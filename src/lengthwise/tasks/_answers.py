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
    Inputs of one length may differ in their size: they are filled up with END, of which only the
    first behind the prompt is asked for.
    """

    autoregressive = True

    @abstractmethod
    def sizes(self, length: int) -> tuple[int, int]:
        """How many tokens the longest prompt and the longest answer with its END have.

        Both never fall as the length grows.

        Args:
            length: How long the inputs are.
        """

    @abstractmethod
    def prompts(self, key: Tensor, length: int, count: int) -> Tensor:
        """Draw prompts, filled up with END: `(*key.shape, count, longest prompt)`.

        Args:
            key: Random streams, of any shape.
            length: How long the inputs are.
            count: How many per stream.
        """

    @abstractmethod
    def answers(self, prompts: Tensor, length: int) -> Tensor:
        """The answers of prompts, filled up with END: `(..., longest answer)`.

        Args:
            prompts: What `prompts` gave.
            length: How long the inputs are.
        """

    @property
    @abstractmethod
    def end(self) -> int:
        """The token that ends an answer; behind it, it is padding. No prompt has it."""

    @property
    def separator(self) -> int | None:
        """The token that ends every prompt and stands nowhere else in it.

        It is needed where prompts of one length differ in their size.
        """
        return None

    def input_size(self, length: int) -> int:
        """The longest prompt and the longest answer without its END."""
        return sum(self.sizes(length)) - 1

    def position_ids(self, tokens: Tensor, length: int) -> Tensor | None:
        """Ids of whole inputs that are not 0, 1, ..., such as those of coupled positions.

        Args:
            tokens: Whole inputs, with their answers.
            length: How long the inputs are.
        """
        return None

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        """Prompts with their answers, and what is asked behind the prompt.

        Raises:
            InputError: The length is none of the task's.
        """
        shortest, longest = self.lengths[0], self.lengths[-1]
        require(length in self.lengths, "length", length, f"one of {shortest}..{longest}")
        prompts = self.prompts(key, length, count)
        tokens, labels = self._joined(prompts, self.answers(prompts, length))
        ids = self.position_ids(tokens, length)
        return Batch(tokens if ids is None else Tokens(tokens, ids), labels)

    def targets(self, inputs: Tensor | Tokens) -> Tensor:
        """All mass on the one right token at every place that asks."""
        tokens = inputs if isinstance(inputs, Tensor) else inputs.tokens
        length = self.length_of(tokens.shape[-1])
        prompts = tokens[..., : self.sizes(length)[0]]
        if self.separator is not None:
            behind = _numbers(prompts) >= self.prompt_sizes(prompts)
            prompts = prompts.masked_fill(behind, self.end)
        labels = self._joined(prompts, self.answers(prompts, length))[1]
        asked = (labels != IGNORE_INDEX).unsqueeze(-1)
        return functional.one_hot(labels.clamp(min=0), self.classes) * asked.to(torch.float32)

    def length_of(self, size: int) -> int:
        """The length of inputs of so many tokens.

        Args:
            size: How many tokens an input has.
        """
        return _lengths(self)[size]

    def _joined(self, prompts: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Whole inputs, and the answers at the places that ask: the end of the prompt, up to END.

        Both are `(..., input size)`.
        """
        whole, begins = torch.cat([prompts, answers], -1), prompts.shape[-1]
        places, sizes = _numbers(whole), self.prompt_sizes(prompts)
        if self.separator is not None:
            moved = torch.where(places < sizes, places, places + (begins - sizes))
            whole = whole.gather(-1, moved.clamp(max=whole.shape[-1] - 1))
        tokens = whole[..., :-1]
        asked = (places[:-1] >= sizes - 1) & (tokens != self.end)
        return tokens, whole[..., 1:].masked_fill(~asked, IGNORE_INDEX)

    def prompt_sizes(self, prompts: Tensor) -> Tensor | int:
        """How many tokens each prompt has: `(..., 1)`, or one number for all.

        Args:
            prompts: `(..., size)`, of which some may end earlier.
        """
        if self.separator is None:
            return prompts.shape[-1]
        return (prompts == self.separator).to(torch.int8).argmax(-1, keepdim=True) + 1


def _numbers(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.shape[-1], device=tokens.device)


@cache
def _lengths(task: AnswerTask) -> dict[int, int]:
    """Of every input size, its length."""
    return {task.input_size(length): length for length in task.lengths}
