"""Recipes in and out of JSON, what is wrong with them, and runs of any task on any model."""

import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.models import GPTModel, MinimalModel, SetReaderModel
from lengthwise.registry import TASKS
from lengthwise.runs import (
    Interrupted,
    Recipe,
    RunFolder,
    default_hyperparameters,
    execute,
    recipe_for,
    recipe_from_json,
    recipe_to_json,
)
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, Othello, SetComplement, Task
from lengthwise.training import Hyperparameters

EVERY = (Hyperparameters(seed=0), Hyperparameters(seed=1, attention_dropout=0.1))
SMALL: dict[str, Any] = {
    "min_train_length": 2, "max_train_length": 5, "batch": 8, "steps": 20,
    "test_lengths": (2, 5, 20), "test_inputs": 12, "test_items": 100,
}  # fmt: skip
TINY = GPTModel(layers=1, heads=2, width=8)

parts = st.one_of(
    st.tuples(
        st.builds(SetComplement, st.integers(6, 20)) | st.just(Othello(4)),
        st.builds(
            MinimalModel,
            extra_width=st.integers(1, 6),
            pre_norm=st.booleans(),
            value_width=st.none() | st.integers(1, 9),
            remedies=st.sampled_from([(), ("constant",), ("alibi", "layernorm:place=before")]),
        )
        | st.builds(
            GPTModel,
            layers=st.integers(1, 2),
            heads=st.just(2),
            width=st.sampled_from([8, 16]),
            layout=st.sampled_from(["pre", "post", "sandwich"]),
            mlp=st.sampled_from(["gelu", "gated"]),
            remedies=st.sampled_from([("learned",), ("rotary", "scalable"), ("fire",)]),
        ),
    ),
    st.tuples(
        st.builds(ArgmaxRetrieval, st.integers(2, 12))
        | st.builds(DictionaryLookup, keys=st.sampled_from(["vectors", "symbols", "repeating"])),
        st.builds(
            SetReaderModel,
            width=st.sampled_from([4, 8]),
            residual=st.booleans(),
            remedies=st.sampled_from([(), ("adaptive", "layernorm"), ("differential",)]),
        ),
    ),
)
training = st.fixed_dictionaries(
    {"test_lengths": st.just((3, 5)), "min_train_length": st.none() | st.integers(1, 3)},
    optional={
        "max_train_length": st.integers(3, 5),
        "steps": st.integers(1, 10**9),
        "test_items": st.none() | st.integers(1, 99),
        "precision": st.sampled_from(["auto", "float32", "float64", "bfloat16"]),
        "compiled": st.sampled_from(["auto", "yes", "no"]),
        "device": st.sampled_from(["cpu", "cuda:1"]),
        "start_from": st.none() | st.text(max_size=5),
    },
)


@given(parts, training)
def test_a_recipe_goes_through_json_and_pickle(both: Any, settings: dict[str, Any]) -> None:
    recipe = recipe_for(*both, **settings)
    assert recipe_from_json(json.loads(json.dumps(recipe_to_json(recipe)))) == recipe
    assert pickle.loads(pickle.dumps(recipe)) == recipe


@pytest.mark.parametrize("name", TASKS.listed())
def test_every_task_has_defaults_that_fit(name: str) -> None:
    recipe = recipe_for(name)
    assert recipe.task == TASKS.get(name)()
    assert recipe.model.name == recipe.task.defaults["model"]
    default_hyperparameters(recipe.task)


@pytest.mark.parametrize(
    ("task", "model", "settings", "message"),
    [
        ("set-complment", None, {}, "task = 'set-complment': did you mean 'set-complement'"),
        ("set-complement", "gpd", {}, "model = 'gpd': did you mean 'gpt'"),
        ("set-complement", "set-reader", {}, "model = 'set-reader': expected one that can read"),
        ("argmax-retrieval", "gpt", {}, "model = 'gpt': expected one that can read .*TokenTask"),
        (SetComplement(6), None, {"max_train_length": 6}, r"max_train_length = 6: .*1\.\.5"),
        (SetComplement(6), None, {"max_train_length": 0}, "max_train_length = 0"),
        (SetComplement(6), None, {"min_train_length": 0}, r"min_train_length = 0: .*1\.\.5"),
        (
            SetComplement(6), None, {"min_train_length": 4, "max_train_length": 3},
            "min_train_length = 4: expected at most max_train_length = 3",
        ),
        (SetComplement(6), None, {"test_lengths": (3, 9)}, "test_lengths = 9: expected one of 1"),
        (ArgmaxRetrieval(), None, {"test_lengths": ()}, "test_lengths = 'all': expected some"),
        (SetComplement(6), None, {"batch": 10, "accumulate": 4}, "accumulate = 4: expected a div"),
        (SetComplement(6), None, {"precision": "float16"}, "precision = 'float16': did you mean"),
        (SetComplement(6), None, {"compiled": "maybe"}, "compiled = 'maybe'"),
        (SetComplement(6), None, {"device": "gpu"}, "device = 'gpu'"),
        (SetComplement(6), None, {"steps": 1 << 70}, "steps = 1180591620717411303424: expected"),
        (SetComplement(1 << 70), None, {}, "task.vocab = 1180591620717411303424: expected"),
        (SetComplement(6), MinimalModel(extra_width=1 << 62), {}, "cannot be built"),
        *(
            (SetComplement(6), None, {field: 0}, f"{field} = 0: expected at least 1")
            for field in ("batch", "steps", "test_inputs", "test_items", "accumulate")
        ),
        (SetComplement(6), GPTModel(width=9, heads=2), {}, "width = 9: expected a multiple of 2"),
        (SetComplement(6), replace(TINY, remedies=("batchnorm",)), {}, "remedy = 'batchnorm'"),
        (
            SetComplement(6), replace(TINY, remedies=("learned", "adaptive", "nap")), {},
            "remedies = 'adaptive' and 'nap': both replace",
        ),
        (ArgmaxRetrieval(), SetReaderModel(remedies=("rotary",)), {}, "remedy = 'rotary'"),
    ],
)  # fmt: skip
def test_bad_fields_are_named(
    task: Task | str, model: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        recipe_for(task, model, **settings)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "recipe",
    [
        recipe_for(
            ArgmaxRetrieval(4), SetReaderModel(width=8, remedies=("batchnorm",)), **SMALL,
            test_remedies=("adaptive",),
        ),
        recipe_for(
            DictionaryLookup(4, keys="symbols", symbols=20, key_width=4), SetReaderModel(width=8),
            **SMALL, precision="float64",
        ),
        recipe_for(Othello(4), MinimalModel(remedies=("alibi",)), **SMALL | {"test_lengths": ()}),
        recipe_for(
            SetComplement(8), replace(TINY, remedies=("fire", "nap")),
            **SMALL | {"test_lengths": (2, 5), "accumulate": 2},
        ),
    ],
    ids=["argmax", "dictionary", "othello-minimal", "set-complement-gpt"],
)  # fmt: skip
def test_a_stopped_run_ends_as_one_that_was_not(recipe: Recipe, tmp_path: Path) -> None:
    whole, broken = (
        RunFolder.create(tmp_path / name, recipe, EVERY, ["test"]) for name in ("a", "b")
    )
    execute(whole)
    asked = itertools.count(1)
    with pytest.raises(Interrupted):
        execute(broken, stop=lambda: next(asked) == 7)
    execute(RunFolder.open(broken.path))
    table = whole.table()
    assert broken.table().equals(table)
    checkpoints = [folder.checkpoints()[-1].read_bytes() for folder in (whole, broken)]
    assert checkpoints[0] == checkpoints[1]
    assert len(table) == len(table.unique(["model", "weights", "length", "measure"]))
    if recipe.test_lengths:
        assert set(table["length"]) == set(recipe.test_lengths)
    assert table["value"].is_finite().all()
    if 20 in recipe.test_lengths:
        assert table.filter(length=20)["inputs"].unique().to_list() == [5], "100 items, 20 each"


def test_training_teaches() -> None:
    recipe = recipe_for(
        ArgmaxRetrieval(3), SetReaderModel(width=16), min_train_length=2, max_train_length=4,
        batch=32, steps=150, test_lengths=(4,), test_inputs=500,
    )  # fmt: skip
    trainer = recipe.trainer([Hyperparameters(seed=seed, learning_rate=1e-2) for seed in range(2)])
    trainer.run()
    (accuracy,) = [m.values for m in recipe.measure(trainer.fleet) if m.measure == "accuracy"]
    assert accuracy.min() > 0.7, "a guess would be right in a third of the cases"


@pytest.mark.parametrize(
    "other",
    [
        recipe_for(DictionaryLookup(4), SetReaderModel(width=8), **SMALL),
        recipe_for(SetComplement(6), max_train_length=3, steps=5),
        recipe_for(ArgmaxRetrieval(4), SetReaderModel(width=8, remedies=("layernorm",)), **SMALL),
    ],
    ids=["another task", "another model", "another norm"],
)
def test_a_checkpoint_of_something_else_is_refused(other: Recipe, tmp_path: Path) -> None:
    recipe = recipe_for(ArgmaxRetrieval(4), SetReaderModel(width=8), **SMALL)
    folder = RunFolder.create(tmp_path / "run", recipe, EVERY, [])
    folder.save_checkpoint(0, other.trainer(EVERY).state_dict())
    with pytest.raises(InputError, match=r"checkpoint: tensor '.*' has shape .*another run"):
        execute(folder)


def test_a_run_over_a_band_of_lengths() -> None:
    recipe = recipe_for(SetComplement(17), TINY, min_train_length=11, max_train_length=15, steps=30)
    trainer = recipe.trainer(EVERY)
    lengths = {trainer._batch(step).inputs.shape[-1] for step in range(60)}
    assert lengths == set(range(11, 16))
    assert torch.equal(trainer._batch(7).inputs, recipe.trainer(EVERY)._batch(7).inputs)
