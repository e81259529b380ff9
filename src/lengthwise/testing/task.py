"""What every task must keep: all that training and measures assume of it."""

import dataclasses
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_structure

from lengthwise.errors import InputError
from lengthwise.measures.baselines import HIGH_IS_GOOD
from lengthwise.models import GPTModel, Model, SetReaderModel
from lengthwise.randomness import address
from lengthwise.registry import MODELS, TASKS
from lengthwise.runs import Recipe
from lengthwise.runs.recipe import default_model
from lengthwise.tasks import SetInput, SetTask, Task, Tokens, TokenTask
from lengthwise.tasks._base import map_tensors
from lengthwise.testing._shared import through_json
from lengthwise.testing._task_answers import AnswersConformance, some_lengths
from lengthwise.training import Hyperparameters


class TaskConformance(AnswersConformance):
    """Properties of any task.

    A subclass gives `tasks`: tasks, or names or paths of Python files, which stand for the task
    with its default fields. For inputs that are neither tokens nor sets it gives `model` too.

        class TestParity(TaskConformance):
            tasks = ("parity.py", Parity(bits=3))
    """

    tasks: Sequence[Any]

    def model(self, task: Task) -> Model:
        """A small model that reads the inputs of `task`."""
        if isinstance(task, TokenTask):
            return GPTModel(layers=1, heads=2, width=8)
        if isinstance(task, SetTask):
            return SetReaderModel(width=8)
        found: Model = MODELS.get(default_model(task))()
        return found

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Every test sees every task."""
        if "task" in metafunc.fixturenames:
            tasks = [TASKS.get(one)() if isinstance(one, str) else one for one in self.tasks]
            metafunc.parametrize("task", tasks, ids=repr)

    def test_its_fields_say_all_about_it(self, task: Task) -> None:
        """A task is a frozen dataclass with a name."""
        assert isinstance(task, Task)
        assert isinstance(task.name, str)
        fields = {f.name: getattr(task, f.name) for f in dataclasses.fields(task)}  # type: ignore[arg-type]
        assert type(task)(**fields) == task
        assert hash(type(task)(**fields)) == hash(task)
        for name in fields:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(task, name, None)

    def test_lengths_follow_one_another(self, task: Task) -> None:
        """Lengths are whole numbers from some number on, and all others are refused."""
        assert isinstance(task.lengths, range)
        assert len(task.lengths) > 0
        assert task.lengths.step == 1
        assert task.lengths[0] >= 1
        for length in (0, -1, task.lengths[0] - 1, task.lengths[-1] + 1):
            with pytest.raises(InputError, match=f"length = {length}: expected"):
                task.draw(torch.tensor(0), length, 1)

    def test_shapes(self, task: Task) -> None:
        """Everything has the shape of the key, then the examples; an answer per place, or one."""
        keys = torch.arange(6).view(2, 3)
        for length in some_lengths(task):
            batch = task.draw(keys, length, 4)
            labels, targets = batch.labels, task.targets(batch.inputs)
            if task.numbers:
                assert labels.is_floating_point()
                assert targets.shape == labels.shape
                assert labels.shape[-1] == task.outputs
                labels = labels[..., 0]
            else:
                assert labels.dtype == torch.int64
                assert targets.shape == (*labels.shape, task.classes)
            places = task.input_size(length) if isinstance(task, TokenTask) else length
            assert labels.shape in ((2, 3, 4, places), (2, 3, 4))
            for leaf in tree_leaves(batch.inputs):
                assert leaf is None or leaf.shape[:3] == (2, 3, 4)

    def test_tokens(self, task: Task) -> None:
        """Tokens are those of the vocabulary; ids and masks have the shape of the tokens."""
        if not isinstance(task, TokenTask):
            pytest.skip("no tokens")
        for length in some_lengths(task):
            inputs = task.draw(torch.tensor(1), length, 20).inputs
            inputs = Tokens(inputs) if isinstance(inputs, Tensor) else inputs
            assert isinstance(inputs, Tokens)
            size = task.input_size(length)
            assert inputs.tokens.shape == (20, size)
            assert not inputs.tokens.is_floating_point()
            assert ((inputs.tokens >= 0) & (inputs.tokens < task.vocab)).all()
            ids, mask = inputs.position_ids, inputs.mask
            if ids is not None:
                tracks = () if task.tracks == 1 else (task.tracks,)
                assert ids.shape == (20, size, *tracks)
                assert ((ids >= 0) & (ids < task.max_position)).all()
            else:
                assert task.tracks == 1
                assert size <= task.max_position
            if mask is not None:
                assert mask.shape == (20, size)
                assert mask.dtype == torch.bool

    def test_names(self, task: Task) -> None:
        """Every token and every class is written in its own way."""
        names = [] if task.numbers else [(task.class_names, task.classes)]
        if isinstance(task, TokenTask):
            names.append((task.token_names, task.vocab))
        for written, count in names:
            assert len(written) == count
            assert len(set(written)) == count
            assert all(isinstance(name, str) and name.strip() for name in written)

    def test_an_example_depends_on_its_stream_and_its_number_only(self, task: Task) -> None:
        """Not on how many are drawn, nor on other streams, nor on torch's generator."""
        length = some_lengths(task)[-1]
        keys = torch.tensor([address(seed) for seed in range(3)])
        torch.manual_seed(0)
        before = torch.get_rng_state()
        together = task.draw(keys, length, 20)
        task.targets(together.inputs)
        assert torch.equal(torch.get_rng_state(), before), "torch's generator is left alone"
        torch.manual_seed(1)
        for index, key in enumerate(keys):
            alone, own = task.draw(key, length, 7), together.at(index)
            assert tree_structure(alone.inputs) == tree_structure(own.inputs)
            for ours, theirs in zip(tree_leaves(own), tree_leaves(alone), strict=True):
                assert ours is theirs is None or torch.equal(ours[:7], theirs)
        only = task.enumerate_inputs(length, limit=1) is not None
        streams = [together.at(index) for index in range(3)]
        contents = [[one.labels] if only else tree_leaves(one.inputs) for one in streams]
        for first, second in ((0, 1), (1, 2)):
            pairs = zip(contents[first], contents[second], strict=True)
            assert any(not torch.equal(one, other) for one, other in pairs if one is not None)

    def test_everything_is_where_the_key_is(self, task: Task) -> None:
        """Inputs, labels and targets are on the device of the key, and the same on all devices."""
        devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        key, length = torch.tensor(address("device")), some_lengths(task)[0]
        expected = tree_leaves(task.draw(key, length, 5))
        for device in devices:
            batch = task.draw(key.to(device), length, 5)
            assert task.targets(batch.inputs).device.type == device
            for leaf, other in zip(tree_leaves(batch), expected, strict=True):
                if leaf is not None:
                    assert leaf.device.type == device
                    torch.testing.assert_close(leaf.cpu(), other)

    def test_every_prefix_is_an_input(self, task: Task) -> None:
        """With `prefixes`, place i answers length i + 1 and knows nothing of what follows.

        A shorter draw is then the beginning of a longer one, so that the beginnings of long inputs
        are drawn as short inputs are.
        """
        if not task.prefixes:
            pytest.skip("prefixes are no inputs")
        assert task.lengths[0] == 1
        assert not isinstance(task, TokenTask) or task.input_size(7) == 7
        key, longest = torch.tensor(address("prefix")), some_lengths(task)[-1]
        long = task.draw(key, longest, 20)
        assert long.labels.shape[:2] == (20, longest)
        targets = task.targets(long.inputs)
        for length in {*some_lengths(task), *task.lengths[:3]}:
            short = task.draw(key, length, 20)
            part = (slice(None), slice(length))
            beginning = map_tensors(itemgetter(part), long.inputs)
            for ours, theirs in zip(tree_leaves(short.inputs), tree_leaves(beginning), strict=True):
                assert ours is theirs is None or torch.equal(ours, theirs)
            assert torch.equal(short.labels, long.labels[:, :length])
            assert torch.equal(task.targets(beginning), targets[:, :length])

    def test_enumeration_is_complete_or_absent(self, task: Task) -> None:
        """All inputs of a length, none twice, or None where they are more than the limit."""
        for length in some_lengths(task):
            inputs = task.enumerate_inputs(length, limit=5000)
            if inputs is None:
                continue
            every = _rows(inputs)
            assert len(every) <= 5000
            assert len(set(every)) == len(every), "no input twice"
            assert set(_rows(task.draw(torch.tensor(5), length, 200).inputs)) <= set(every)
            if len(every) > 1:
                assert task.enumerate_inputs(length, limit=len(every) - 1) is None

    def test_a_set_can_be_drawn_in_parts(self, task: Task) -> None:
        """Parts of a set, and the lookup without its items, are those of the whole draw."""
        if not isinstance(task, SetTask):
            pytest.skip("no set")
        keys = torch.tensor([[address(1)], [address(2)]])
        for length in some_lengths(task):
            batch, lookup = task.draw(keys, length, 5), task.draw_lookups(keys, length, 5)
            items, query = batch.inputs
            assert items.shape == (2, 1, 5, length, task.item_width)
            assert query.shape == (2, 1, 5, task.query_width)
            for size in (1, 3, 16):
                parts = [
                    task.draw_items(keys, length, 5, range(first, min(first + size, length)))
                    for first in range(0, length, size)
                ]
                assert torch.equal(torch.cat(parts, -2), items)
            assert torch.equal(lookup.query, query)
            assert torch.equal(lookup.label, batch.labels)
            assert ((lookup.item >= 0) & (lookup.item < length)).all()
            # Items that are not the one said to hold the answer can be taken away.
            at = lookup.item[..., None, None].expand(*lookup.item.shape, 1, task.item_width)
            only = SetInput(items.gather(-2, at), query)
            assert torch.equal(task.targets(only).argmax(-1), lookup.label)

    def test_a_set_has_no_order(self, task: Task) -> None:
        """The order of items never changes the target."""
        if not isinstance(task, SetTask):
            pytest.skip("no set")
        generator = torch.Generator().manual_seed(0)
        for length in some_lengths(task):
            items, query = task.draw(torch.tensor(7), length, 20).inputs
            targets = task.targets(SetInput(items, query))
            order = torch.randperm(length, generator=generator)
            assert torch.equal(task.targets(SetInput(items[:, order], query)), targets)

    def test_tests_are_drawn_from_a_task_of_the_same_shape(self, task: Task) -> None:
        """What is held out has the same lengths and answers."""
        tested = task.held_out()
        assert type(tested) is type(task)
        assert tested.held_out() == tested
        assert (tested.lengths, tested.outputs) == (task.lengths, task.outputs)

    @pytest.mark.parametrize("band", [True, False], ids=["band", "longest"])
    def test_it_trains_and_is_measured(self, task: Task, band: bool) -> None:
        """A few steps with both losses, on a band of lengths or the longest alone; measures."""
        recipe = self.recipe(task, band=band)
        losses = ("sampled", "soft")
        every = [Hyperparameters(seed=seed, loss=loss) for seed, loss in enumerate(losses)]  # type: ignore[arg-type]
        trainer = recipe.trainer(every)
        trainer.run()
        assert (trainer.diverged < 0).all()
        assert trainer.loss.isfinite().all()
        found = list(recipe.measure(trainer.fleet))
        assert {one.length for one in found} <= set(recipe.test_lengths)
        assert any(one.length == task.lengths[0] for one in found)
        for one in found:
            assert one.values.shape == (2,)
            assert one.inputs >= 1
            if one.measure in HIGH_IS_GOOD or one.measure == "tvd":
                assert ((one.values >= 0) & (one.values <= 1 + 1e-6)).all()

    def test_json_holds_it(self, task: Task) -> None:
        """A run folder can keep it: if it is one of the package or of a Python file."""
        try:
            TASKS.key_of(type(task))
        except InputError:
            pytest.skip("neither of the package nor of a file given by its path")
        recipe = self.recipe(task, band=True)
        assert through_json(recipe) == recipe

    def recipe(self, task: Task, *, band: bool) -> Recipe:
        """A small recipe."""
        lengths = some_lengths(task)
        longest = lengths[min(1, len(lengths) - 1)]
        return Recipe(
            task=task,
            model=self.model(task),
            min_train_length=task.lengths[0] if band else None,
            max_train_length=longest,
            batch=4,
            steps=3,
            test_lengths=tuple(lengths),
            test_inputs=6,
        )


def _rows(inputs: Any) -> list[tuple[Any, ...]]:
    """Every input as something that can be compared."""
    leaves = [leaf.flatten(1).tolist() for leaf in tree_leaves(inputs) if leaf is not None]
    return [tuple(tuple(part) for part in row) for row in zip(*leaves, strict=True)]
