"""Needles: short statements hidden in a text, and the same words at its end to be gone on with.

Each statement gives a name a word. At the end the statements are begun once more, name by name, and
what counts is how likely the model finds the right word there: no question, no template, nothing
to generate. Every statement is a distractor of the others, and some are never asked for.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lengthwise.randomness import address

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How deep in the haystack the needles that are asked for lie: 0 is its start."""

DISTRACTORS = (0.125, 0.375, 0.625)
"""Where statements of the same kind lie that are never asked for."""

NAMES = (
    "Ada", "Boris", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karla",
    "Leon", "Maria", "Nils", "Olga", "Peter", "Rosa", "Simon", "Tilda", "Victor",
)  # fmt: skip
WORDS = (
    "anchor", "basket", "candle", "dragon", "engine", "feather", "garden", "hammer", "island",
    "jacket", "kettle", "lantern", "mirror", "needle", "orange", "pencil", "rabbit", "saddle",
    "ticket", "window",
)  # fmt: skip

UNNAMED_TOKENS, ANSWER_TOKENS = 4, 2
"""Tokens of a name and of an answer where there is no tokenizer to write words."""


@dataclass(frozen=True)
class Haystack:
    """A text with needles in it."""

    ids: Tensor
    """`(length,)`."""
    answers: tuple[Tensor, ...]
    """By depth, the positions of the tokens of the answer at the end."""
    places: tuple[int, ...]
    """By depth, where the needle begins."""


@dataclass(frozen=True)
class Needles:
    """Statements as tokens."""

    openings: tuple[Tensor, ...]
    """By name, all of a statement up to its word."""
    words: tuple[Tensor, ...]
    end: Tensor
    """What closes a statement."""
    seed: int

    @classmethod
    def of(
        cls, tokenizer: "PreTrainedTokenizerBase | None", ordinary: Tensor, seed: int
    ) -> "Needles":
        """In words if there is a tokenizer, else of random tokens."""
        if tokenizer is None:
            return cls._of_tokens(ordinary, seed)

        def tokens(text: str) -> Tensor:
            return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])

        return cls(
            tuple(tokens(f"\nThe secret word of {name} is") for name in NAMES),
            tuple(tokens(f" {word}") for word in WORDS),
            tokens(".\n"),
            seed,
        )

    @classmethod
    def _of_tokens(cls, ordinary: Tensor, seed: int) -> "Needles":
        generator = torch.Generator().manual_seed(address(seed, "needle tokens"))

        def draw(count: int) -> Tensor:
            return ordinary[torch.randint(len(ordinary), (count,), generator=generator)]

        frame = draw(2)
        openings = [torch.cat((frame[:1], draw(UNNAMED_TOKENS), frame[1:])) for _ in NAMES]
        words = [draw(ANSWER_TOKENS) for _ in WORDS]
        return cls(tuple(openings), tuple(words), draw(1), seed)

    def hide(self, text: Tensor, start: int, number: int) -> Haystack | None:
        """Hide needles in a text without making it longer; None if it has too little room.

        Args:
            text: `(length,)`; its end makes way, so that the length stays what it is.
            start: So many tokens at its start stay there.
            number: Which of the haystacks of this length: says names, words and order.
        """
        length = len(text)
        depths = (*DEPTHS, *DISTRACTORS)
        generator = torch.Generator().manual_seed(address(self.seed, "needles", number))
        names = torch.randperm(len(self.openings), generator=generator)[: len(depths)].tolist()
        words = torch.randperm(len(self.words), generator=generator)[: len(depths)].tolist()
        pairs = [(self.openings[n], self.words[w]) for n, w in zip(names, words, strict=True)]
        hidden = [torch.cat((opening, word, self.end)) for opening, word in pairs]
        asked = sum(len(statement) for statement in hidden[: len(DEPTHS)])
        room = length - start - sum(map(len, hidden)) - asked
        if room < asked:
            return None
        hay = text[start : start + room]
        pieces, places, position, used = [text[:start]], [0] * len(depths), start, 0
        for which in sorted(range(len(depths)), key=lambda which: depths[which]):
            upto = round(depths[which] * room)
            pieces += [hay[used:upto], hidden[which]]
            places[which] = position + upto - used
            position, used = places[which] + len(hidden[which]), upto
        # Each haystack begins to ask at another depth, so that none is always the first.
        answers: list[Tensor] = [torch.empty(0)] * len(DEPTHS)
        for turn in range(len(DEPTHS)):
            which = (turn + number) % len(DEPTHS)
            opening, word = pairs[which]
            answers[which] = position + len(opening) + torch.arange(len(word))
            pieces.append(hidden[which])
            position += len(hidden[which])
        return Haystack(torch.cat(pieces), tuple(answers), tuple(places[: len(DEPTHS)]))
