"""What a model does at one length: how well it reads, copies, and finds needles."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lengthwise.checking.inputs import Inputs
from lengthwise.checking.scoring import Scores, score
from lengthwise.errors import InputError
from lengthwise.files import regular, write_with

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BATCH_TOKENS = 2048
"""So many tokens go through the model at once, or one sequence if it is longer."""


@dataclass(frozen=True)
class Behaviour:
    """What was measured at one length. Rows are sequences, so that lengths can be paired."""

    loss: Tensor
    """`(documents, targets)`: in nats, on tokens that are the same at every length."""
    positions: Tensor
    """Sampled positions of the documents."""
    position_loss: Tensor
    """`(documents, positions)`."""
    copied: Tensor
    """`(sequences, tokens)`: 1 where a token of the repeated half was the most likely one."""
    fresh: Tensor
    """`(sequences, tokens)`: the same of tokens of the first half, which cannot be copied."""
    shuffled: Tensor
    """`(sequences, tokens)`: the same of tokens copied out of order; empty where none were."""
    distance: Tensor
    """How far back each of those stands."""
    needle_log_probability: Tensor
    """`(haystacks, depths)`: mean over the tokens of an answer; empty where none was asked."""
    needle_rank: Tensor
    """`(haystacks, depths)`: of the answer's worst token, 0 being the most likely one."""
    seconds: Tensor
    """How long reading and repeating took."""
    more_seconds: Tensor
    """How long copying out of order and needles took."""

    @property
    def document_loss(self) -> Tensor:
        """Mean loss of each document."""
        return self.loss.double().mean(1)

    @property
    def copy_gain(self) -> Tensor:
        """Of each sequence: accuracy where copying helps minus accuracy where it cannot."""
        return self.copied.double().mean(1) - self.fresh.double().mean(1)

    @property
    def found(self) -> Tensor:
        """Of each haystack: the share of needles whose answer was the most likely, throughout."""
        return (self.needle_rank == 0).double().mean(1)

    def save(self, path: Path) -> None:
        """Write it to a safetensors file."""
        tensors = {one.name: getattr(self, one.name).contiguous() for one in fields(self)}
        write_with(path, lambda temporary: save_file(tensors, temporary))

    @classmethod
    def load(cls, path: Path) -> "Behaviour":
        """Read it back."""
        try:
            return cls(**load_file(regular(path)))
        except (SafetensorError, OSError, TypeError) as error:
            raise InputError(f"{path} is damaged ({error}): remove it to measure again") from error


Around = Callable[[Callable[[Callable[[], None]], Scores]], Scores]
"""Is given a function that scores a batch, and calls it, watching what it wants to watch; that
function calls what it is given once the body of the model has run."""


def unwatched(scored: Callable[[Callable[[], None]], Scores]) -> Scores:
    """Score and nothing else."""
    return scored(lambda: None)


def measure(
    model: "PreTrainedModel",
    inputs: Inputs,
    length: int,
    sequences: int,
    whole: bool = True,
    around: Around = unwatched,
    progress: Callable[[int], None] = lambda tokens: None,
) -> Behaviour:
    """Measure a model at one length.

    Args:
        model: A causal model, in evaluation mode.
        inputs: Where sequences come from.
        length: How many tokens each of them has.
        sequences: How many to copy, and how many haystacks; half as many to copy out of order.
        whole: Whether to measure all; else loss and plain copying only.
        around: Runs around every batch of documents: what watches attention goes here.
        progress: Told how many tokens have gone through the model since it was last told.
    """
    began = time.perf_counter()
    ids, targets, positions = inputs.reading(length)
    asked, places = torch.cat((targets, positions)).unique(return_inverse=True)
    read = []
    for batch in ids.split(max(1, BATCH_TOKENS // length)):
        read.append(around(partial(score, model, batch, asked)))
        progress(batch.numel())
    loss = torch.cat([one.loss for one in read])
    copying = inputs.copying(length, sequences)
    both = torch.cat((copying.fresh, copying.copied))
    hit = _hits(model, copying.ids, both, progress)
    read_and_copied = time.perf_counter()
    more = sequences if whole else 0
    mixed = inputs.copying(length, more // 2, shuffled=True)
    shuffled = _hits(model, mixed.ids, mixed.copied, progress)
    log_probability, rank = _needles(model, inputs, length, more, progress)
    return Behaviour(
        loss=loss[:, places[: len(targets)]],
        positions=positions,
        position_loss=loss[:, places[len(targets) :]],
        copied=hit[:, len(copying.fresh) :],
        fresh=hit[:, : len(copying.fresh)],
        shuffled=shuffled,
        distance=mixed.distance,
        needle_log_probability=log_probability,
        needle_rank=rank,
        seconds=torch.tensor(read_and_copied - began),
        more_seconds=torch.tensor(time.perf_counter() - read_and_copied),
    )


def _hits(
    model: "PreTrainedModel", ids: Tensor, targets: Tensor, progress: Callable[[int], None]
) -> Tensor:
    """Where tokens were the most likely ones: `(sequences, targets)`."""
    hits = []
    for batch in ids.split(max(1, BATCH_TOKENS // ids.shape[1])) if len(ids) else ():
        hits.append(score(model, batch, targets).hit)
        progress(batch.numel())
    return torch.cat(hits) if hits else torch.empty(0, len(targets))


def _needles(
    model: "PreTrainedModel",
    inputs: Inputs,
    length: int,
    haystacks: int,
    progress: Callable[[int], None],
) -> tuple[Tensor, Tensor]:
    likely: list[Sequence[Tensor]] = []
    ranks: list[Sequence[Tensor]] = []
    start = len(inputs.vocabulary.start)
    for number in range(haystacks):
        text = inputs.document(number % inputs.documents, length)
        hidden = inputs.needles.hide(text, start, number)
        if hidden is None:
            break
        found = score(model, hidden.ids.unsqueeze(0), torch.cat(hidden.answers))
        progress(length)
        counts = [len(answer) for answer in hidden.answers]
        likely.append([-part.mean() for part in found.loss[0].split(counts)])
        ranks.append([part.max() for part in found.rank[0].split(counts)])
    if not likely:
        return torch.empty(0, 0), torch.empty(0, 0, dtype=torch.long)
    return (
        torch.stack([torch.stack(tuple(row)) for row in likely]),
        torch.stack([torch.stack(tuple(row)) for row in ranks]),
    )
