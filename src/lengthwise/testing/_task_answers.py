"""What the answers of every task must keep: they follow their targets, at every length."""

from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.utils._pytree import tree_leaves

from lengthwise.errors import InputError
from lengthwise.measures import baselines
from lengthwise.models import GPTModel
from lengthwise.tasks import IGNORE_INDEX, Task, Tokens, TokenTask
from lengthwise.training import Hyperparameters

LONG = 40
"""The longest inputs that are drawn: there are tasks without an end."""

DRAWS = 4000
"""Inputs whose answers are counted."""

UNLIKELY = 1e-7
"""A p-value that small is no chance: the draws are the same in every run."""


def some_lengths(task: Task) -> list[int]:
    """The shortest length, a longest one and one in between."""
    lengths = task.lengths[:LONG]
    return sorted({lengths[0], lengths[len(lengths) // 2], lengths[-1]})


class AnswersConformance:
    """The part of `TaskConformance` that is about answers."""

    def test_labels_and_targets_agree(self, task: Task) -> None:
        """Targets are distributions where something is asked, zero elsewhere, and labels in them.

        At the shortest length something is asked. Possible answers are equally likely, or the task
        says that it is graded. Numbers are finite, and their variances positive.
        """
        for length in some_lengths(task):
            batch = task.draw(torch.tensor(2), length, 50)
            targets = task.targets(batch.inputs)
            if task.numbers:
                variances = task.variances(batch.inputs)
                assert variances.shape == targets.shape == batch.labels.shape
                assert batch.labels.isfinite().all()
                assert targets.isfinite().all()
                assert (variances > 0).all()
                continue
            asked = batch.labels != IGNORE_INDEX
            assert (targets >= 0).all(), f"length {length}: a mass is below 0"
            torch.testing.assert_close(targets.sum(-1), asked.to(targets.dtype))
            _require_possible(task, length, batch.labels, targets)
            assert asked.any() or length > task.lengths[0]
            if not task.graded:
                least = targets.masked_fill(targets == 0, torch.inf).amin(-1)
                alike = (targets.amax(-1) - least)[asked].abs() < 1e-6
                assert alike.all(), "answers differ in how likely they are: say `graded = True`"

    def test_every_length_is_labelled_truly(self, task: Task) -> None:
        """At every length there are inputs of that length, and their answers are possible."""
        for length in task.lengths[:LONG]:
            batch = task.draw(torch.tensor(9), length, 6)
            targets = task.targets(batch.inputs)
            if task.numbers:
                assert targets.shape == batch.labels.shape
            else:
                assert targets.shape == (*batch.labels.shape, task.classes)
                _require_possible(task, length, batch.labels, targets)
            if isinstance(task, TokenTask):
                assert _tokens(batch.inputs).shape == (6, task.input_size(length))

    def test_labels_follow_the_targets(self, task: Task) -> None:
        """Each answer is drawn as often as its target says, whatever the input is.

        Pearson's chi-square over the answers of every short input that is drawn often, and over
        those of every target that is; of numbers, their distance from the mean in deviations.
        """
        for length in task.lengths[:2]:
            if task.numbers:
                self._numbers_follow(task, length)
                continue
            batch = task.draw(torch.tensor(3), length, DRAWS)
            targets = task.targets(batch.inputs).flatten(0, -2).to(torch.float64)
            labels = batch.labels.flatten()
            asked, places = labels != IGNORE_INDEX, len(labels) // DRAWS
            groups = [(targets.unique(dim=0, return_inverse=True)[1], asked)]
            if not (isinstance(task, TokenTask) and task.autoregressive):
                number = torch.arange(len(labels)) % places
                # Where every prefix is asked, an input has the answers in it, but for the last.
                last = asked & (number == places - 1) if task.prefixes else asked
                rows = _rows(batch.inputs).unique(dim=0, return_inverse=True)[1]
                groups.append((rows.repeat_interleave(places) * places + number, last))
            for group, of in groups:
                chance = _chance(group[of], labels[of], targets[of])
                assert chance > UNLIKELY, f"length {length}: answers as rare as {chance:.1g}"

    @staticmethod
    def _numbers_follow(task: Task, length: int) -> None:
        batch = task.draw(torch.tensor(3), length, 256)
        spread = task.variances(batch.inputs).double().sqrt()
        off = ((batch.labels.double() - task.targets(batch.inputs)) / spread).flatten(1)
        for values, expected in ((off.mean(1), 0.0), (off.square().mean(1), 1.0)):
            error = float(values.std()) / len(values) ** 0.5
            assert abs(float(values.mean()) - expected) < 5.5 * error

    def test_answers_follow_what_asks_for_them(self, task: Task) -> None:
        """With `autoregressive`, the token behind a place that asks is its answer.

        With `end`, the last answer is END, and no other one.
        """
        if not isinstance(task, TokenTask) or not task.autoregressive:
            pytest.skip("answers do not stand among the inputs")
        for length in some_lengths(task):
            inputs, labels = task.draw(torch.tensor(4), length, 20)
            asked = labels[:, :-1] != IGNORE_INDEX
            assert torch.equal(labels[:, :-1][asked], _tokens(inputs)[:, 1:][asked])
            if task.end is not None:
                for row in labels:
                    answer = row[row != IGNORE_INDEX].tolist()
                    assert answer.index(task.end) == len(answer) - 1
        sizes = {task.input_size(n) for n in task.lengths[:LONG]}
        told = len(sizes) in (1, len(task.lengths[:LONG]))
        assert told, "an input size tells its length, or all have one"
        model = GPTModel(layers=1, heads=2, width=8, causal=False)
        with pytest.raises(InputError, match="causal"):
            model.build(task, Hyperparameters())

    def test_padding_is_not_read(self, task: Task) -> None:
        """Where the mask is False nothing is asked, and no target depends on what stands there."""
        if not isinstance(task, TokenTask):
            pytest.skip("no tokens")
        for length in some_lengths(task):
            inputs, labels = task.draw(torch.tensor(6), length, 20)
            if isinstance(inputs, Tensor) or inputs.mask is None:
                pytest.skip("no mask")
            if labels.dim() == 2:
                assert (labels[~inputs.mask] == IGNORE_INDEX).all()
            other = torch.where(inputs.mask, inputs.tokens, (inputs.tokens + 1) % task.vocab)
            changed = inputs._replace(tokens=other)
            assert torch.equal(task.targets(changed), task.targets(inputs))

    def test_baselines(self, task: Task) -> None:
        """Chance and what the length alone gives can be told, and no input is counted twice."""
        length = task.lengths[0]
        found = {one.measure: one for one in baselines(task, [length], inputs=64)}
        assert {"mse"} <= set(found) if task.numbers else {"tvd", "kl"} <= set(found)
        for one in found.values():
            assert one.length == length
            assert one.chance >= 0
            assert one.length_only >= 0
        count = task.count_inputs(length)
        if count is not None:
            rows = _rows(task.draw(torch.tensor(8), length, 200).inputs)
            assert 1 <= len(rows.unique(dim=0)) <= count


def _require_possible(task: Task, length: int, labels: Tensor, targets: Tensor) -> None:
    asked = labels != IGNORE_INDEX
    found = labels[asked]
    assert ((found >= 0) & (found < task.classes)).all(), f"length {length}: no class"
    mass = targets[asked].gather(-1, found.unsqueeze(-1))
    assert (mass > 0).all(), f"length {length}: an answer that its target rules out"


def _chance(groups: Tensor, labels: Tensor, targets: Tensor) -> float:
    """The p-value of Pearson's chi-square over all cells in which enough is expected."""
    names, groups = groups.unique(return_inverse=True)
    observed = torch.zeros(len(names), targets.shape[-1], dtype=torch.float64)
    expected = observed.index_add(0, groups, targets)
    observed.index_put_((groups, labels), torch.ones(len(labels)).double(), accumulate=True)
    # Groups of which a possible answer is expected too seldom say nothing by this test.
    enough = ((expected >= 5) | (expected == 0)).all(-1)
    observed, expected = observed[enough], expected[enough]
    freedom = int(((expected > 0).sum(-1) - 1).sum())
    if freedom <= 0:
        return 1.0
    found = ((observed - expected).square() / expected.clamp(min=1e-9))[expected > 0].sum()
    return float(stats.chi2.sf(float(found), freedom))


def _tokens(inputs: Tensor | Tokens) -> Tensor:
    return inputs if isinstance(inputs, Tensor) else inputs.tokens


def _rows(inputs: Any) -> Tensor:
    """Inputs as rows of numbers: of tokens, without what is said of them."""
    if isinstance(inputs, Tensor | Tokens):
        return _tokens(inputs).flatten(1)
    return torch.cat([leaf.flatten(1) for leaf in tree_leaves(inputs) if leaf is not None], 1)
