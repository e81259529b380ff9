"""The suite of tasks finds what is wrong with a task."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from small_tasks import OnesFirst, Parity, RunningMean, binary_words
from torch import Tensor

from lengthwise.randomness import bits
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


@dataclass(frozen=True)
class Leaning(Parity):
    """Answers that depend on the input where the target says that both are equally likely."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words = binary_words(key, length, count)
        drawn = bits(key, 2 * count, 1 << 20).unflatten(-1, (count, 2)) & 1
        rare = drawn.sum(-1) == 2  # a quarter
        return Batch(words, torch.where(rare, words[..., 0], 1 - words[..., 0]))

    def targets(self, inputs: Tensor) -> Tensor:
        return torch.full((*inputs.shape[:-1], 2), 0.5)


@dataclass(frozen=True)
class Uneven(Parity):
    """Answers that differ in how likely they are, unsaid."""

    def targets(self, inputs: Tensor) -> Tensor:
        return super().targets(inputs) * 0.8 + 0.1


@dataclass(frozen=True)
class WrongOnce(Parity):
    """Wrong at one length, neither the shortest nor the longest."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        words, odd = super().draw(key, length, count)
        return Batch(words, 1 - odd if length == 4 else odd)


class PaddingIsRead(Sum):  # type: ignore[misc, valid-type]
    """A sum of all tokens, those of the padding too."""

    def _sums(self, inputs: Any) -> Tensor:
        return super()._sums(inputs if isinstance(inputs, Tensor) else inputs.tokens)  # type: ignore[no-any-return]


class TwoEnds(OnesFirst):
    """Answers that say END and go on."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        inputs, _ = super().draw(key, length, count)
        tokens = inputs.masked_fill(inputs == 1, self.end)
        labels = torch.full_like(tokens, -100)
        labels[..., length:-1] = tokens[..., length + 1 :]
        labels[..., -1] = self.end
        return Batch(tokens, labels)


class Named(SetComplement):
    """Two tokens of one name."""

    token_names = ("a", "a", *map(str, range(14)))


class Counted(SetComplement):
    """Fewer inputs than are drawn."""

    def count_inputs(self, length: int) -> int:
        return 3


class FarOff(RunningMean):
    """Numbers whose mean is another one than is said."""

    def draw(self, key: Tensor, length: int, count: int) -> Batch:
        inputs, labels = super().draw(key, length, count)
        return Batch(inputs, labels + 0.1)


class Sure(RunningMean):
    """Numbers that spread more than is said."""

    def variances(self, inputs: Tensor) -> Tensor:
        return super().variances(inputs) / 2


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
    "answers that lean on the input": (Leaning(), SUITE.test_labels_follow_the_targets),
    "answers of unequal likelihood": (Uneven(), SUITE.test_labels_and_targets_agree),
    "wrong at one length": (WrongOnce(), SUITE.test_every_length_is_labelled_truly),
    "padding that is read": (PaddingIsRead(padded=True), SUITE.test_padding_is_not_read),
    "an end that is none": (TwoEnds(), SUITE.test_answers_follow_what_asks_for_them),
    "two tokens of one name": (Named(), SUITE.test_names),
    "too few inputs": (Counted(), SUITE.test_baselines),
    "numbers around another mean": (FarOff(), SUITE.test_labels_follow_the_targets),
    "numbers that spread more": (Sure(), SUITE.test_labels_follow_the_targets),
    "any length": (Late(), SUITE.test_lengths_follow_one_another),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_found(what: str) -> None:
    task, check = BROKEN[what]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(task)


@pytest.mark.parametrize(
    "task", [Parity(), OnesFirst(), RunningMean(), SetComplement(7), Sum(padded=True)], ids=repr
)
def test_what_is_right_passes_where_its_neighbours_fail(task: Task) -> None:
    for check in {check for _, check in BROKEN.values()}:
        with contextlib.suppress(pytest.skip.Exception):
            if task.lengths[0] == 3 and check == SUITE.test_lengths_follow_one_another:
                continue  # this small one takes any length
            check(task)
