"""The sequences that are put into a model: where their tokens come from, and what asks."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import torch
from torch import Tensor

from lengthwise.errors import InputError, require
from lengthwise.files import read_text as read_file
from lengthwise.probing.packaged import TEXTS, packaged
from lengthwise.randomness import address

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Input = Literal["random", "unigram", "text"]
Query = Literal["fixed", "random", "natural"]


@dataclass(frozen=True)
class Vocabulary:
    """The tokens a model can be given."""

    ordinary: Tensor
    """All but the special ones."""
    start: tuple[int, ...] = ()
    """What the tokenizer puts before every text, such as BOS or CLS."""

    @classmethod
    def of(
        cls, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase | None"
    ) -> "Vocabulary":
        """Those of a tokenizer that the model has an embedding for; all if there is none."""
        size = len(cast(Tensor, model.get_input_embeddings().weight))
        if tokenizer is None:
            return cls(torch.arange(size))
        special = {*tokenizer.all_special_ids, *tokenizer.get_added_vocab().values()}
        known = sorted(set(tokenizer.get_vocab().values()) - special)
        ordinary = torch.tensor([token for token in known if token < size])
        plain = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        return cls(ordinary, tuple(whole[: whole.index(plain[0])]))


@dataclass(frozen=True)
class Source:
    """Draws sequences of any length: the same ones for the same seed and length."""

    vocabulary: Vocabulary
    input: Input
    """Uniform over the vocabulary; single tokens as frequent as in the text; or the text itself."""
    query: Query
    """The last token: one and the same, drawn uniformly, or left as it comes."""
    seed: int
    text: Tensor | None = None
    """The text's tokens, where the input needs them."""

    @property
    def fixed_query(self) -> int:
        """The token at the end of every sequence if the query is fixed."""
        ordinary = self.vocabulary.ordinary
        index = torch.randint(len(ordinary), (), generator=_generator(self.seed, "query token"))
        return int(ordinary[index])

    def require_length(self, length: int, sequences: int) -> None:
        """Raise unless sequences of this length can be drawn."""
        start = len(self.vocabulary.start)
        require(length >= start + 2, "lengths", length, f"at least {start + 2} tokens")
        if self.text is not None and self.input == "text":
            needed = length - start + sequences - 1
            require(
                len(self.text) >= needed, "text", f"{len(self.text)} tokens",
                f"at least {needed} tokens, for {sequences} different windows of length {length}",
            )  # fmt: skip

    def draw(self, length: int, sequences: int) -> Tensor:
        """Tokens of shape `(sequences, length)`."""
        generator = _generator(self.seed, self.input, length)
        start = torch.tensor(self.vocabulary.start, dtype=torch.long).expand(sequences, -1)
        shape = (sequences, length - start.shape[1])
        if self.text is None:
            body = self._uniform(shape, generator)
        elif self.input == "unigram":
            body = self.text[torch.randint(len(self.text), shape, generator=generator)]
        else:
            windows = self.text.unfold(0, shape[1], 1)
            body = windows[torch.randperm(len(windows), generator=generator)[:sequences]].clone()
        if self.query == "fixed":
            body[:, -1] = self.fixed_query
        elif self.query == "random":
            body[:, -1] = self._uniform((sequences,), _generator(self.seed, "query", length))
        return torch.cat((start, body), 1)

    def notes(self, length: int, sequences: int) -> tuple[str, ...]:
        """What a reader of the results should know of the sequences."""
        if self.text is None or self.input != "text" or len(self.text) >= length * sequences:
            return ()
        return (
            f"The text has {len(self.text)} tokens: its {sequences} windows of length {length} "
            "overlap, so the intervals are narrower than they should be.",
        )

    def _uniform(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        ordinary = self.vocabulary.ordinary
        return ordinary[torch.randint(len(ordinary), shape, generator=generator)]


def read_text(text: str | Path, tokenizer: "PreTrainedTokenizerBase | None") -> Tensor:
    """The tokens of a text file, or of a packaged text by its short name."""
    if tokenizer is None:
        raise InputError(f"text = {str(text)!r}: expected a tokenizer beside the model to read it")
    short = TEXTS.get(str(text))
    path = packaged(str(text), short, "text") if short else Path(text)
    try:
        content = read_file(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        known = ", ".join(TEXTS)
        raise InputError(
            f"text = {str(text)!r}: cannot be read ({reason}); expected a file of plain text, or "
            f"a packaged one: {known}"
        ) from None
    # A text longer than the model's positions is what we want: nothing to warn of.
    tokens = tokenizer(content, add_special_tokens=False, verbose=False)["input_ids"]
    return torch.tensor(tokens, dtype=torch.long)


def _generator(*path: int | str) -> torch.Generator:
    return torch.Generator().manual_seed(address(*path))
