"""Recipes in and out of JSON, and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.remedies import NORMS
from lengthwise.runs import (
    ArgmaxRetrievalRecipe,
    DictionaryLookupRecipe,
    Interrupted,
    RunFolder,
    SetComplementRecipe,
    execute,
)
from lengthwise.runs.recipes import RECIPES, from_json, to_json
from lengthwise.runs.retrieval import RetrievalRecipe
from lengthwise.training import Hyperparameters

SMALL: dict[str, Any] = {
    "shortest": 2, "train_length": 5, "classes": 4, "width": 8, "batch": 8, "steps": 20,
    "test_lengths": (2, 5, 20), "test_inputs": 12, "test_items": 100,
}  # fmt: skip
MEMBERS = (Hyperparameters(seed=0), Hyperparameters(seed=1, dropout_weights=0.1))

retrieval_fields = st.fixed_dictionaries(
    {},
    optional={
        "shortest": st.integers(1, 4),
        "train_length": st.integers(4, 30),
        "classes": st.integers(2, 12),
        "width": st.sampled_from([4, 8]),
        "heads": st.sampled_from([1, 2]),
        "attention": st.sampled_from(["softmax", "scalable"]),
        "norm": st.sampled_from(sorted(NORMS)),
        "norm_place": st.sampled_from(["before", "after"]),
        "residual": st.booleans(),
        "test_lengths": st.lists(st.integers(1, 2**14), min_size=1, max_size=5).map(tuple),
        "test_weigh": st.sampled_from(["softmax", "adaptive"]),
        "dtype": st.sampled_from(["float32", "float64"]),
    },
)
dictionary_fields = st.fixed_dictionaries(
    {},
    optional={
        "keys": st.sampled_from(["vectors", "symbols", "repeating"]),
        "key_width": st.integers(4, 8),
        "symbols": st.integers(2**14, 2**15),
    },
)


@given(retrieval_fields, dictionary_fields)
def test_a_recipe_goes_through_json(shared: dict[str, Any], own: dict[str, Any]) -> None:
    for recipe in (
        ArgmaxRetrievalRecipe(**({"shortest": 3} | shared)),
        DictionaryLookupRecipe(**({"shortest": 3} | shared), **own),
    ):
        read = from_json(json.loads(json.dumps(to_json(recipe, MEMBERS))))
        assert read == (recipe, MEMBERS)


def test_every_recipe_is_known_by_the_name_of_its_task() -> None:
    names = {"set-complement", "argmax-retrieval", "dictionary-lookup", "othello"}
    assert set(RECIPES) == names
    for kind in (ArgmaxRetrievalRecipe, DictionaryLookupRecipe):
        assert RECIPES[kind().task.name] is kind


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (ArgmaxRetrievalRecipe, {"classes": 1}, "classes = 1: expected at least 2"),
        (
            ArgmaxRetrievalRecipe,
            {"norm": "layernom"},
            "norm = 'layernom': did you mean 'layernorm'",
        ),
        (ArgmaxRetrievalRecipe, {"attention": "soft"}, "attention = 'soft'"),
        (ArgmaxRetrievalRecipe, {"width": 9, "heads": 2}, "width = 9: expected a multiple of"),
        (ArgmaxRetrievalRecipe, {"train_length": 0}, r"train_length = 0: expected one of 1\.\."),
        (ArgmaxRetrievalRecipe, {"shortest": 0}, r"shortest = 0: expected one of 1\.\.train_len"),
        (ArgmaxRetrievalRecipe, {"shortest": 17}, "shortest = 17: expected"),
        (ArgmaxRetrievalRecipe, {"test_lengths": ()}, r"test_lengths = \(\): expected at least"),
        (ArgmaxRetrievalRecipe, {"test_lengths": (16, 0)}, "test_lengths = 0: expected"),
        (ArgmaxRetrievalRecipe, {"test_weigh": "adaptiv"}, "did you mean 'adaptive'"),
        (ArgmaxRetrievalRecipe, {"dtype": "float16"}, "dtype = 'float16': did you mean"),
        (ArgmaxRetrievalRecipe, {"device": "gpu"}, "device = 'gpu'"),
        *(
            (ArgmaxRetrievalRecipe, {field: 0}, f"{field} = 0: expected at least 1")
            for field in ("batch", "steps", "test_inputs", "test_items", "width", "heads")
        ),
        (DictionaryLookupRecipe, {"keys": "symbol"}, "keys = 'symbol': did you mean 'symbols'"),
        (DictionaryLookupRecipe, {"key_width": 0}, "key_width = 0: expected"),
        (
            DictionaryLookupRecipe,
            {"keys": "symbols", "symbols": 100},
            r"test_lengths = 128: expected numbers of 1\.\.100",
        ),
        (
            DictionaryLookupRecipe,
            {"keys": "symbols", "symbols": 10},
            r"train_length = 16: expected one of 1\.\.10",
        ),
    ],
)
def test_bad_fields_are_named(
    kind: type[RetrievalRecipe], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        kind(**fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "argmax"}, "task = 'argmax': did you mean 'argmax-retrieval'"),
        ({"recipe": {"withd": 8}}, "field = 'withd': did you mean 'width'"),
        ({"recipe": {"keys": "vectors"}}, "field = 'keys'"),
        ({"members": [{"sed": 1}]}, "field = 'sed': did you mean 'seed'"),
    ],
)
def test_bad_json_is_named(change: dict[str, Any], message: str) -> None:
    values = to_json(ArgmaxRetrievalRecipe(), MEMBERS) | change
    with pytest.raises(InputError, match=message):
        from_json(values)


def test_a_set_reader_has_no_embedding_to_drop() -> None:
    with pytest.raises(InputError, match=r"dropout_embedding = 0.1: expected 0"):
        ArgmaxRetrievalRecipe(**SMALL).trainer([Hyperparameters(dropout_embedding=0.1)])


@pytest.mark.parametrize(
    "recipe",
    [
        ArgmaxRetrievalRecipe(**SMALL, norm="batchnorm", test_weigh="adaptive"),
        DictionaryLookupRecipe(**SMALL, keys="symbols", symbols=20, key_width=4, dtype="float64"),
    ],
    ids=["argmax", "dictionary"],
)
def test_a_stopped_run_ends_as_one_that_was_not(recipe: RetrievalRecipe, tmp_path: Path) -> None:
    whole, broken = (
        RunFolder.create(tmp_path / name, recipe, MEMBERS, ["test"]) for name in ("a", "b")
    )
    execute(whole)
    asked = iter(range(1, 1000))
    with pytest.raises(Interrupted):
        execute(broken, stop=lambda: next(asked) == 7)
    execute(RunFolder.open(broken.path))
    assert broken.table().equals(whole.table())
    checkpoints = [folder.checkpoints()[-1].read_bytes() for folder in (whole, broken)]
    assert checkpoints[0] == checkpoints[1]

    table = whole.table()
    key = ["model", "weights", "length", "measure"]
    assert len(table) == len(table.unique(key))
    assert set(table["length"]) == {2, 5, 20}
    assert table["value"].is_finite().all()
    assert table.filter(length=20)["inputs"].unique().to_list() == [5], "100 items, 20 at a time"
    adaptive = set(
        table.filter(weights="raw")["measure"].str.extract(r"(.*)_adaptive").drop_nulls()
    )
    expected = {"accuracy", "entropy", "largest_weight", "right_weight"}
    assert adaptive == (expected if recipe.test_weigh == "adaptive" else set())


def test_training_teaches(tmp_path: Path) -> None:
    recipe = ArgmaxRetrievalRecipe(
        shortest=2, train_length=4, classes=3, width=16, batch=32, steps=150, test_lengths=(4,),
        test_inputs=500,
    )  # fmt: skip
    members = [Hyperparameters(seed=seed, learning_rate=1e-2) for seed in range(2)]
    folder = RunFolder.create(tmp_path / "run", recipe, members, ["test"])
    execute(folder)
    accuracy = folder.table().filter(weights="raw", measure="accuracy")["value"]
    assert accuracy.min() > 0.7, "a guess would be right in a third of the cases"


@pytest.mark.parametrize(
    "other",
    [
        DictionaryLookupRecipe(**SMALL),
        SetComplementRecipe(vocab=6, train_length=3, steps=5),
        ArgmaxRetrievalRecipe(**SMALL, norm="layernorm"),
    ],
    ids=["another task", "another model", "another norm"],
)
def test_a_checkpoint_of_something_else_is_refused(other: Any, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", ArgmaxRetrievalRecipe(**SMALL), MEMBERS, [])
    folder.save_checkpoint(0, other.trainer(MEMBERS).state_dict())
    with pytest.raises(InputError, match=r"checkpoint: tensor '.*' has shape .*another run"):
        execute(folder)
