"""What every task must keep: inherit from `TaskConformance` and say which tasks to check."""

import pytest
import torch

from lengthwise.randomness import address
from lengthwise.tasks import Task


class TaskConformance:
    """Properties of any task; a subclass gives `tasks` and whether tokens are distinct."""

    tasks: tuple[Task, ...]
    distinct = False
    """Whether the task forbids the same token twice in an input."""

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
            assert batch.inputs.shape[:4] == (2, 3, 4, length)
            assert batch.drawn.shape == (2, 3, 4, length)
            assert task.targets(batch.inputs).shape == (2, 3, 4, length, task.classes)

    def test_targets_are_distributions(self, task: Task) -> None:
        for length in self.some_lengths(task):
            targets = task.targets(task.draw(torch.tensor(1), length, 50).inputs)
            assert (targets >= 0).all()
            torch.testing.assert_close(targets.sum(-1), torch.ones(50, length))

    def test_drawn_answers_are_possible(self, task: Task) -> None:
        batch = task.draw(torch.tensor(2), task.lengths[-1], 50)
        assert (task.targets(batch.inputs).gather(-1, batch.drawn.unsqueeze(-1)) > 0).all()

    def test_drawn_answers_follow_the_targets(self, task: Task) -> None:
        batch = task.draw(torch.tensor(3), task.lengths[0], 20_000)
        expected = task.targets(batch.inputs)[:, -1].mean(0)
        observed = torch.bincount(batch.drawn[:, -1], minlength=task.classes) / 20_000
        assert (observed - expected).abs().max() < 5 * (0.25 / 20_000) ** 0.5

    def test_an_example_depends_on_its_stream_and_index_only(self, task: Task) -> None:
        length = task.lengths[-1]
        keys = torch.tensor([address(seed) for seed in range(3)])
        together = task.draw(keys, length, 20)
        for seed in range(3):
            alone = task.draw(torch.tensor(address(seed)), length, 7)
            assert torch.equal(together.inputs[seed, :7], alone.inputs)
            assert torch.equal(together.drawn[seed, :7], alone.drawn)
        assert not torch.equal(together.inputs[0], together.inputs[1])

    def test_prefix_targets_do_not_look_ahead(self, task: Task) -> None:
        length = task.lengths[-1]
        inputs = task.draw(torch.tensor(4), length, 20).inputs
        for shorter in self.some_lengths(task):
            prefix = task.targets(inputs[:, :shorter])
            assert torch.equal(task.targets(inputs)[:, :shorter], prefix)

    def test_enumeration_is_complete_or_absent(self, task: Task) -> None:
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

    def test_no_duplicates_where_forbidden(self, task: Task) -> None:
        if not self.distinct:
            pytest.skip("this task allows repeated tokens")
        inputs = task.draw(torch.tensor(6), task.lengths[-1], 500).inputs
        ordered = inputs.sort(-1).values
        assert (ordered[..., 1:] != ordered[..., :-1]).all()

    def test_lengths_that_do_not_exist_are_refused(self, task: Task) -> None:
        with pytest.raises(ValueError, match="length"):
            task.draw(torch.tensor(0), 0, 1)

    def some_lengths(self, task: Task) -> list[int]:
        return sorted({task.lengths[0], task.lengths[len(task.lengths) // 2], task.lengths[-1]})
