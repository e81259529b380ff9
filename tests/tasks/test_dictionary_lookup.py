import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.tasks import DictionaryLookup, SetInput

KINDS = ("vectors", "symbols", "repeating")


@pytest.mark.parametrize("keys", KINDS)
def test_the_query_is_a_key_of_length_one(keys: str) -> None:
    task = DictionaryLookup(keys=keys, symbols=100)  # type: ignore[arg-type]
    items, query = task.draw(torch.tensor(1), 20, 50).inputs
    vectors = items[..., : task.key_width]
    assert (vectors == query.unsqueeze(1)).all(-1).any(-1).all()
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(50, 20))
    assert (items[..., task.key_width :].sum(-1) == 1).all()


@pytest.mark.parametrize("keys", ["vectors", "symbols"])
@pytest.mark.parametrize("length", [16, 1 << 14])
def test_distinct_keys_are_distinct(keys: str, length: int) -> None:
    task = DictionaryLookup(keys=keys)  # type: ignore[arg-type]
    (items,) = task.draw_items(torch.tensor(2), length, 1, range(length))
    assert len(items[:, : task.key_width].unique(dim=0)) == length


def test_symbols_have_the_same_code_in_every_set_and_vectors_are_new() -> None:
    shared = {}
    for keys in ("symbols", "vectors"):
        task = DictionaryLookup(keys=keys, symbols=20)  # type: ignore[arg-type]
        sets = task.draw(torch.tensor(3), 20, 2).inputs.items[..., : task.key_width]
        first, second = (set(map(tuple, one.tolist())) for one in sets)
        shared[keys] = len(first & second)
    assert shared == {"symbols": 20, "vectors": 0}


def test_a_repeated_symbol_has_one_value_in_a_set_and_others_in_other_sets() -> None:
    task = DictionaryLookup(keys="repeating", symbols=5)
    found = []
    for items in task.draw(torch.tensor(4), 60, 30).inputs.items:
        values: dict[tuple[float, ...], set[int]] = {}
        for item in items:
            symbol = tuple(item[: task.key_width].tolist())
            values.setdefault(symbol, set()).add(int(item[task.key_width :].argmax()))
        assert len(values) == 5
        assert all(len(of_symbol) == 1 for of_symbol in values.values())
        found.append(frozenset((symbol, *value) for symbol, value in values.items()))
    assert len(set(found)) == 30


@pytest.mark.parametrize("keys", KINDS)
def test_a_shorter_set_is_the_beginning_of_a_longer_one(keys: str) -> None:
    task, key = DictionaryLookup(keys=keys), torch.tensor(5)  # type: ignore[arg-type]
    short, long = (task.draw(key, length, 4).inputs.items for length in (3, 30))
    assert torch.equal(short, long[:, :3])


def test_the_target_is_the_value_of_the_query() -> None:
    task = DictionaryLookup(classes=3, key_width=4)
    items = torch.tensor([[[1.0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0, 0]]])
    for query, answer in (([1.0, 0, 0, 0], 2), ([0.0, 1, 0, 0], 0)):
        assert task.targets(SetInput(items, torch.tensor([query])))[0, answer] == 1


def test_more_items_than_distinct_keys() -> None:
    task = DictionaryLookup(keys="symbols", symbols=12)
    with pytest.raises(InputError, match=r"length = 13: expected 1\.\.12, .* distinct .*symbols"):
        task.draw(torch.tensor(0), 13, 1)
    assert DictionaryLookup(keys="repeating", symbols=12).draw(torch.tensor(0), 13, 1)


@pytest.mark.parametrize("keys", KINDS)
def test_zero_items(keys: str) -> None:
    task = DictionaryLookup(keys=keys)  # type: ignore[arg-type]
    for draw in (task.draw, task.draw_lookups):
        with pytest.raises(InputError, match="length = 0: expected"):
            draw(torch.tensor(0), 0, 1)
    with pytest.raises(InputError, match="length = 0: expected"):
        task.draw_items(torch.tensor(0), 0, 1, range(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": 1}, "classes = 1: expected at least 2"),
        ({"keys": "vector"}, "keys = 'vector': did you mean 'vectors'"),
        ({"key_width": 1}, "key_width = 1: expected at least 4"),
        ({"symbols": 0}, "symbols = 0: expected at least 1"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DictionaryLookup(**settings)  # type: ignore[arg-type]
