"""The suite of tasks finds what is wrong with a task."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from lengthwise.tasks import Batch, SetComplement
from lengthwise.tasks._base import Task
from lengthwise.testing import TaskConformance
from lengthwise.testing._shared import Sum

SUITE = TaskConformance()


@dataclass(frozen=True)
class Changed(SetComplement):
    """Set complement, but for one thing."""

    vocab: int = 7
    change: Any = None

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        found: Batch = self.change(super().draw(key, length, count))
        return found


@dataclass(frozen=True)
class Rough(SetComplement):
    """With targets that are none."""

    vocab: int = 7

    def targets(self, inputs: Tensor) -> Tensor:
        return super().targets(inputs) / 2


@dataclass(frozen=True)
class LaterTargets(SetComplement):
    """With targets that know what is to come."""

    vocab: int = 7

    def targets(self, inputs: Tensor) -> Tensor:
        return super().targets(inputs)[..., -1:, :].expand(*inputs.shape, self.vocab)


class Late(Sum):  # type: ignore[misc, valid-type]
    """Accepts lengths that it has not."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        return super().draw(key, min(max(length, 2), 8), count)  # type: ignore[no-any-return]


def labels(change: Callable[[Tensor], Tensor]) -> Changed:
    return Changed(change=lambda batch: Batch(batch.inputs, change(batch.labels)))


def inputs(change: Callable[[Tensor], Tensor]) -> Changed:
    return Changed(change=lambda batch: Batch(change(batch.inputs), batch.labels))


BROKEN: dict[str, tuple[Task, Callable[[Task], None]]] = {
    "labels that are no class": (
        labels(lambda tensor: tensor + 1), SUITE.test_labels_and_targets_agree,
    ),
    "labels that were seen already": (
        Changed(change=lambda batch: Batch(batch.inputs, batch.inputs)),
        SUITE.test_labels_and_targets_agree,
    ),
    "the first answer always": (
        Changed(change=lambda batch: Batch(batch.inputs, (batch.inputs == 0).long())),
        SUITE.test_labels_follow_the_targets,
    ),
    "numbers of torch's generator": (
        inputs(lambda tensor: tensor.flip(-1) if torch.rand(()) < 2 else tensor),
        SUITE.test_an_example_depends_on_its_stream_and_its_number_only,
    ),
    "examples that depend on how many there are": (
        inputs(lambda tensor: tensor.flip(-2)),
        SUITE.test_an_example_depends_on_its_stream_and_its_number_only,
    ),
    "one stream for all": (
        inputs(torch.zeros_like),
        SUITE.test_an_example_depends_on_its_stream_and_its_number_only,
    ),
    "labels of the length": (
        labels(lambda tensor: (tensor + tensor.shape[-1]) % 7), SUITE.test_every_prefix_is_an_input,
    ),
    "inputs whose end decides the beginning": (
        inputs(lambda tensor: tensor.flip(-1)), SUITE.test_every_prefix_is_an_input,
    ),
    "half a distribution": (Rough(), SUITE.test_labels_and_targets_agree),
    "targets that look ahead": (LaterTargets(), SUITE.test_every_prefix_is_an_input),
    "tokens beyond the vocabulary": (inputs(lambda tensor: tensor + 1), SUITE.test_tokens),
    "labels of another shape": (labels(lambda tensor: tensor[..., :1]), SUITE.test_shapes),
    "any length": (Late(), SUITE.test_lengths_follow_one_another),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_found(what: str) -> None:
    task, check = BROKEN[what]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(task)
