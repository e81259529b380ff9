"""What every task must keep: inherit from a suite below and say which tasks to check."""

from typing import Any

import pytest
import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.randomness import address
from lengthwise.tasks import NO_ANSWER, Inputs, Question, SequenceTask, SetTask, Task

LONG = 40
"""The longest inputs that are drawn: there are tasks without an end."""


def tensors(inputs: Inputs) -> tuple[Tensor, ...]:
    return inputs if isinstance(inputs, Question) else (inputs,)


class TaskConformance:
    """Properties of any task; a subclass gives `tasks` and the shape of what is drawn."""

    tasks: tuple[Any, ...]

    def answers(self, length: int) -> tuple[int, ...]:
        """The shape of the answers to one input of `length`."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "task" in metafunc.fixturenames:
            metafunc.parametrize("task", self.tasks, ids=repr)

    def test_is_a_task(self, task: Task) -> None:
        assert isinstance(task, Task)
        assert len(task.lengths) > 0
        assert task == type(task)(**vars(task)), "the fields say all about a task"

    def test_shapes(self, task: Task) -> None:
        keys = torch.arange(6).view(2, 3)
        for length in self.some_lengths(task):
            batch = task.draw(keys, length, 4)
            answers = (2, 3, 4, *self.answers(length))
            assert batch.drawn.shape == answers
            assert task.targets(batch.inputs).shape == (*answers, task.classes)
            assert all(tensor.shape[:3] == (2, 3, 4) for tensor in tensors(batch.inputs))

    def test_targets_are_distributions_where_something_is_asked(self, task: Task) -> None:
        for length in self.some_lengths(task):
            batch = task.draw(torch.tensor(1), length, 50)
            targets = task.targets(batch.inputs)
            assert (targets >= 0).all()
            asked = (batch.drawn != NO_ANSWER).to(targets.dtype)
            torch.testing.assert_close(targets.sum(-1), asked)

    def test_drawn_answers_are_possible(self, task: Task) -> None:
        for length in self.some_lengths(task):
            batch = task.draw(torch.tensor(2), length, 50)
            asked = batch.drawn != NO_ANSWER
            given = task.targets(batch.inputs)[asked].gather(-1, batch.drawn[asked].unsqueeze(-1))
            assert (given > 0).all()

    def test_something_is_asked_after_the_shortest_input(self, task: Task) -> None:
        assert (task.draw(torch.tensor(9), task.lengths[0], 50).drawn != NO_ANSWER).all()

    def test_drawn_answers_follow_the_targets(self, task: Task) -> None:
        count = 20_000
        batch = task.draw(torch.tensor(3), task.lengths[0], count)
        expected = task.targets(batch.inputs).view(count, -1, task.classes)[:, -1].mean(0)
        observed = torch.bincount(batch.drawn.view(count, -1)[:, -1], minlength=task.classes)
        assert (observed / count - expected).abs().max() < 5 * (0.25 / count) ** 0.5

    def test_an_example_depends_on_its_stream_and_index_only(self, task: Task) -> None:
        length = self.some_lengths(task)[-1]
        keys = torch.tensor([address(seed) for seed in range(3)])
        together = task.draw(keys, length, 20)
        for seed in range(3):
            alone = task.draw(torch.tensor(address(seed)), length, 7)
            for ours, theirs in zip(
                tensors(together.step(seed).inputs), tensors(alone.inputs), strict=True
            ):
                assert torch.equal(ours[:7], theirs)
            assert torch.equal(together.drawn[seed, :7], alone.drawn)
        for tensor in tensors(together.inputs):
            assert not torch.equal(tensor[0], tensor[1])

    def test_lengths_that_do_not_exist_are_refused(self, task: Task) -> None:
        for length in (0, -1, task.lengths[-1] + 1):
            with pytest.raises(InputError, match=f"length = {length}: expected"):
                task.draw(torch.tensor(0), length, 1)

    def some_lengths(self, task: Task) -> list[int]:
        lengths = task.lengths[:LONG]
        return sorted({lengths[0], lengths[len(lengths) // 2], lengths[-1]})


class SequenceTaskConformance(TaskConformance):
    """Properties of a task over tokens that asks after every prefix."""

    tasks: tuple[SequenceTask, ...]
    distinct = False
    """Whether the task forbids the same token twice in an input."""

    def answers(self, length: int) -> tuple[int, ...]:
        return (length,)

    def test_inputs_are_sequences(self, task: SequenceTask) -> None:
        assert isinstance(task, SequenceTask)
        for length in self.some_lengths(task):
            assert task.draw(torch.tensor(0), length, 4).inputs.shape == (4, length)

    def test_prefix_targets_do_not_look_ahead(self, task: SequenceTask) -> None:
        inputs = task.draw(torch.tensor(4), self.some_lengths(task)[-1], 20).inputs
        for shorter in self.some_lengths(task):
            prefix = task.targets(inputs[:, :shorter])
            assert torch.equal(task.targets(inputs)[:, :shorter], prefix)

    def test_enumeration_is_complete_or_absent(self, task: SequenceTask) -> None:
        for length in self.some_lengths(task):
            inputs = task.enumerate_inputs(length, limit=5000)
            if inputs is None:
                continue
            assert len(inputs) <= 5000
            assert len(inputs.flatten(1).unique(dim=0)) == len(inputs), "no input twice"
            drawn = task.draw(torch.tensor(5), length, 200).inputs
            known = {tuple(row) for row in inputs.flatten(1).tolist()}
            assert all(tuple(row) in known for row in drawn.flatten(1).tolist())
            if len(inputs) > 1:
                assert task.enumerate_inputs(length, limit=len(inputs) - 1) is None

    def test_no_duplicates_where_forbidden(self, task: SequenceTask) -> None:
        if not self.distinct:
            pytest.skip("this task allows repeated tokens")
        inputs = task.draw(torch.tensor(6), self.some_lengths(task)[-1], 500).inputs
        ordered = inputs.sort(-1).values
        assert (ordered[..., 1:] != ordered[..., :-1]).all()


class SetTaskConformance(TaskConformance):
    """Properties of a task over sets: one answer, no order, and any part can be drawn alone."""

    tasks: tuple[SetTask, ...]

    def answers(self, length: int) -> tuple[int, ...]:
        return ()

    def test_inputs_are_questions(self, task: SetTask) -> None:
        assert isinstance(task, SetTask)
        for length in self.some_lengths(task):
            question = task.draw(torch.tensor(0), length, 4).inputs
            assert isinstance(question, Question)
            assert question.items.shape == (4, length, task.item_width)
            assert question.query.shape == (4, task.query_width)

    def test_drawing_in_parts_is_drawing_at_once(self, task: SetTask) -> None:
        keys = torch.tensor([[address(1)], [address(2)]])
        for length in self.some_lengths(task):
            whole = task.draw(keys, length, 5).inputs.items
            for size in (1, 3, 16):
                parts = [
                    task.draw_items(keys, length, 5, range(first, min(first + size, length)))
                    for first in range(0, length, size)
                ]
                assert torch.equal(torch.cat(parts, -2), whole)

    def test_questions_are_those_of_the_whole_draw(self, task: SetTask) -> None:
        keys = torch.tensor([address(3), address(4)])
        for length in self.some_lengths(task):
            batch, asked = task.draw(keys, length, 9), task.draw_questions(keys, length, 9)
            assert torch.equal(asked.query, batch.inputs.query)
            assert torch.equal(asked.answer, batch.drawn)
            assert ((asked.item >= 0) & (asked.item < length)).all()
            # Items that are not the one said to hold the answer can be taken away.
            at = asked.item[..., None, None].expand(*asked.item.shape, 1, task.item_width)
            only = Question(batch.inputs.items.gather(-2, at), batch.inputs.query)
            assert torch.equal(task.targets(only).argmax(-1), asked.answer)

    def test_the_order_of_items_never_changes_the_target(self, task: SetTask) -> None:
        generator = torch.Generator().manual_seed(0)
        for length in self.some_lengths(task):
            items, query = task.draw(torch.tensor(7), length, 20).inputs
            targets = task.targets(Question(items, query))
            for _ in range(5):
                order = torch.randperm(length, generator=generator)
                assert torch.equal(task.targets(Question(items[:, order], query)), targets)

    def test_all_answers_and_places_are_equally_likely(self, task: SetTask) -> None:
        count, length = 20_000, min(5, task.lengths[-1])
        asked = task.draw_questions(torch.tensor(8), length, count)
        for values, number in ((asked.answer, task.classes), (asked.item, length)):
            observed = torch.bincount(values, minlength=number) / count
            assert (observed - 1 / number).abs().max() < 5 * (0.25 / count) ** 0.5
