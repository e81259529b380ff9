import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.tasks import ArgmaxRetrieval, SetInput


def set_of(*items: tuple[float, int], classes: int = 4) -> SetInput:
    rows = [[priority, *(float(label == c) for c in range(classes))] for priority, label in items]
    return SetInput(torch.tensor([rows]), torch.tensor([[0.5]]))


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 3)), min_size=1, max_size=9))
def test_the_target_is_shared_by_the_highest(items: list[tuple[float, int]]) -> None:
    highest = [label for priority, label in items if priority == max(p for p, _ in items)]
    expected = torch.tensor([[highest.count(c) / len(highest) for c in range(4)]])
    torch.testing.assert_close(ArgmaxRetrieval(4).targets(set_of(*items)), expected)


def test_the_query_says_nothing() -> None:
    task = ArgmaxRetrieval(4)
    inputs = set_of((0.1, 2), (0.9, 3))
    other = SetInput(inputs.items, inputs.query + 0.3)
    assert torch.equal(task.targets(inputs), task.targets(other))


def test_priorities_and_queries_are_uniform_and_unrelated() -> None:
    items, query = ArgmaxRetrieval().draw(torch.tensor(1), 2, 20_000).inputs
    numbers = torch.cat([items[..., 0], query], 1)
    assert ((numbers >= 0) & (numbers < 1)).all()
    grid = torch.linspace(0.05, 0.95, 19)
    observed = (numbers.unsqueeze(-1) < grid).double().mean(0)
    assert (observed - grid).abs().max() < 0.015
    assert (torch.corrcoef(numbers.T) - torch.eye(3)).abs().max() < 0.03


def test_items_are_a_priority_and_one_class() -> None:
    items = ArgmaxRetrieval(5).draw(torch.tensor(2), 30, 100).inputs.items
    assert set(items[..., 1:].unique().tolist()) == {0.0, 1.0}
    assert (items[..., 1:].sum(-1) == 1).all()


def test_very_long_sets_exist() -> None:
    task, key = ArgmaxRetrieval(), torch.tensor(3)
    assert task.draw_items(key, 1 << 20, 1, range(1 << 19, (1 << 19) + 4)).shape == (1, 4, 11)


@pytest.mark.parametrize("classes", [1, 0, -3])
def test_a_choice_needs_two_classes(classes: int) -> None:
    with pytest.raises(InputError, match=f"classes = {classes}: expected at least 2"):
        ArgmaxRetrieval(classes)
