"""How likely a model finds given tokens: its own logits, made for a few positions at a time.

The body of the model runs once. Its head runs again and again on what the body gave, so that memory
grows with the vocabulary, not with the length times the vocabulary; and it is the model's own head,
with whatever it does to logits beside the projection.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lengthwise.checking.overflow import require_finite

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CHUNK_TOKENS = 128
"""For so many tokens logits are held at once."""


@dataclass(frozen=True)
class Scores:
    """What a model made of some tokens of each sequence: `(sequences, tokens)`."""

    loss: Tensor
    """Minus the log-probability, in nats, float32."""
    rank: Tensor
    """How many tokens of the vocabulary were more likely, or as likely and of a lower number; so a
    model that finds all tokens alike is right by chance only."""

    @property
    def hit(self) -> Tensor:
        """Whether the token was the most likely one, as 0 or 1."""
        return (self.rank == 0).float()


def score(
    model: "PreTrainedModel",
    ids: Tensor,
    targets: Tensor,
    body_done: Callable[[], None] = lambda: None,
) -> Scores:
    """Score the tokens at some positions, each given all tokens before it.

    Args:
        model: A causal model.
        ids: `(sequences, length)`.
        targets: Positions of the tokens, each at least 1, the same in every sequence.
        body_done: Called after the body has run and before the head runs for the first time.

    Raises:
        InputError: If something is no finite number, with where that begins.
    """
    ids, targets = ids.to(model.device), targets.to(model.device)
    step = max(1, CHUNK_TOKENS // len(ids))
    losses, ranks = [], []
    for logits, chosen in _logits(model, ids, targets, step, body_done):
        wanted = ids[:, chosen].unsqueeze(-1)
        logits = logits.float()
        of_target = logits.gather(-1, wanted)
        losses.append(logits.logsumexp(-1) - of_target.squeeze(-1))
        ranks.append(_rank(logits, of_target, wanted))
    loss = torch.cat(losses, 1)
    if not loss.isfinite().all():
        require_finite(model, ids)
    return Scores(loss.cpu(), torch.cat(ranks, 1).cpu())


def _rank(logits: Tensor, of_target: Tensor, wanted: Tensor) -> Tensor:
    above = (logits > of_target).sum(-1)
    alike = logits == of_target
    if int(alike.sum()) == of_target.numel():  # no ties, as nearly always
        return above
    earlier = torch.arange(logits.shape[-1], device=logits.device) < wanted
    return above + (alike & earlier).sum(-1)


def _logits(
    model: "PreTrainedModel",
    ids: Tensor,
    targets: Tensor,
    step: int,
    body_done: Callable[[], None],
) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits that predict the targets, some at a time, and which targets they are."""
    accepted = inspect.signature(model.forward).parameters
    options: dict[str, Any] = {"use_cache": False} if "use_cache" in accepted else {}
    if "logits_to_keep" not in accepted:  # a class of one's own: it gives all logits at once
        logits = model(input_ids=ids, **options).logits
        body_done()
        for chosen in targets.split(step):
            yield logits[:, chosen - 1], chosen
        return
    with _body_runs_once(model, body_done):
        for chosen in targets.split(step):
            output = model(input_ids=ids, logits_to_keep=chosen - 1, **options)
            yield output.logits, chosen


@contextmanager
def _body_runs_once(model: "PreTrainedModel", body_done: Callable[[], None]) -> Iterator[None]:
    """Inside, the body of the model gives again what it gave the first time."""
    body = model.get_decoder()
    given: list[Any] = []
    forward = body.forward

    def replayed(*arguments: Any, **options: Any) -> Any:
        if not given:
            given.append(forward(*arguments, **options))
            body_done()
        return given[0]

    body.forward = replayed
    try:
        yield
    finally:
        del body.forward
