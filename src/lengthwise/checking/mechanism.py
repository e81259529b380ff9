"""What attention does while a model reads the documents: the probe's statistics, at no extra pass.

The positions watched lie among the targets, so behaviour and mechanism speak of the same tokens.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lengthwise.checking.behaviour import Around
from lengthwise.checking.quiet import quiet
from lengthwise.checking.scoring import Scores
from lengthwise.errors import InputError
from lengthwise.probing.observer import Observation, attention_of, observing
from lengthwise.probing.run import forward
from lengthwise.probing.summary import Summary, summarise
from lengthwise.randomness import address

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WATCHED = 16
"""At so many of the targets of each document attention is watched. Ours."""

TOP, RESAMPLES = 8, 200


class Watcher:
    """Collects what attention does at one length."""

    def __init__(self, model: "PreTrainedModel", length: int, targets: int) -> None:
        """Watch positions among the last `targets` of sequences of this length."""
        self._model = model
        count = min(WATCHED, targets)
        steps = torch.arange(1, count + 1) * targets // count
        self._positions = tuple((length - targets + steps - 1).tolist())
        self._batches: list[dict[int, Observation]] = []

    @property
    def around(self) -> Around:
        """What goes around every batch of documents."""

        def watch(scored: Callable[[Callable[[], None]], Scores]) -> Scores:
            with observing(self._model, self._positions, top=TOP) as observer:

                def keep() -> None:  # the head runs several times, and each run begins anew
                    seen = observer.observations
                    self._batches.append({layer: one.cpu() for layer, one in seen.items()})

                return scored(keep)

        return watch

    def summary(self, seed: int, length: int) -> Summary:
        """All that was seen, with bootstrap resamples of the documents."""
        return summarise(self._batches, 0, RESAMPLES, address(seed, "bootstrap", length))


def cannot_watch(model: "PreTrainedModel", ids: Tensor) -> str | None:
    """Why attention of this model cannot be watched; None if it can, with the same logits."""
    try:
        with quiet(), attention_of(model, "sdpa"):
            alone = forward(model, ids)
        with observing(model) as observer:
            watched = forward(model, ids)
    except InputError as error:
        return str(error)
    if not observer.observations:
        return f"model = {type(model).__name__!r}: none of its layers went through attention"
    if not torch.equal(alone, watched):
        return f"model = {type(model).__name__!r}: its logits change under the probe"
    return None
