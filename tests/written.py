"""Inputs of tasks as a person writes them, and what the labels ask for."""

from typing import NamedTuple

import torch
from torch import Tensor

from lengthwise.tasks import IGNORE_INDEX, Task

DIGITS = "0123456789"


class Written(NamedTuple):
    prompt: str
    answer: str
    """Up to END, which is left out, or "" if END is never asked for."""
    ids: list | None


def written(
    task: Task, length: int, count: int, symbols: str, end: str, key: int = 0
) -> list[Written]:
    """Examples by the places that ask: what stands before them, and what they ask for in turn.

    All that a row says is checked on the way: what is asked follows, and END fills it up.
    """
    inputs, labels = task.draw(torch.tensor(key), length, count)
    tokens = inputs if isinstance(inputs, Tensor) else inputs.tokens
    ids = None if isinstance(inputs, Tensor) else inputs.position_ids
    found = []
    for number, (row, asked) in enumerate(zip(tokens.tolist(), labels.tolist(), strict=True)):
        text = "".join(symbols[token] for token in row)
        places = [place for place, label in enumerate(asked) if label != IGNORE_INDEX]
        assert places == list(range(places[0], places[-1] + 1)), "the answer has no holes"
        answer = "".join(symbols[asked[place]] for place in places)
        assert answer[-1] == end
        assert end not in answer[:-1]
        begins = places[0] + 1
        assert text[begins:] == (answer[:-1] + end * len(text))[: len(text) - begins]
        own = None if ids is None else ids[number].tolist()
        found.append(Written(text[:begins], answer[:-1], own))
    return found
