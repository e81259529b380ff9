"""Runs that begin with another run's models, and runs that are measured with more remedies."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.models import MinimalModel, Model, SetReaderModel
from lengthwise.runs import Interrupted, Recipe, RunFolder, execute, recipe_for
from lengthwise.runs.models import load_trainer
from lengthwise.tasks import ArgmaxRetrieval, SetComplement
from lengthwise.training import Hyperparameters

TASK = SetComplement(6)
RECIPE = recipe_for(
    TASK, MinimalModel(extra_width=1), max_train_length=3, steps=12, batch=8, test_inputs=20
)
SEEDS = [Hyperparameters(seed=seed, resid_dropout=0.1) for seed in (4, 7, 9)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = RunFolder.create(tmp_path_factory.mktemp("start") / "source", RECIPE, SEEDS, [])
    execute(folder)
    return folder.path


def begun(source: Path, model: Model = RECIPE.model) -> Recipe:
    return replace(RECIPE, model=model, start_from=str(source), steps=6)


def test_models_are_taken_over_by_name_and_seed(source: Path) -> None:
    trained = load_trainer(RunFolder.open(source)).fleet
    trainer = begun(source).trainer([SEEDS[2], SEEDS[0]])
    assert torch.equal(trainer.fleet.weights, trained.weights[[2, 0]])
    assert not torch.equal(RECIPE.trainer([SEEDS[2]]).fleet.weights, trained.weights[[2]])


def test_what_only_the_new_models_have_stays_as_it_was_drawn(source: Path) -> None:
    recipe = begun(source, MinimalModel(extra_width=1, remedies=("layernorm", "alibi")))
    fleet, trained = recipe.trainer(SEEDS).fleet, load_trainer(RunFolder.open(source)).fleet
    fresh = replace(recipe, start_from=None).fleet(SEEDS)
    old, new, drawn = trained.views(), fleet.views(), fresh.views()
    added = [name for name in new if name not in old]
    assert added
    for name in new:
        assert torch.equal(new[name], drawn[name] if name in added else old[name]), name


def test_a_weight_of_another_remedy_is_not_taken_over(tmp_path: Path) -> None:
    def model(*remedies: str) -> MinimalModel:
        return MinimalModel(extra_width=1, remedies=remedies)

    norms = model("layernorm:place=before", "layernorm")
    folder = RunFolder.create(tmp_path / "norms", replace(RECIPE, model=norms), SEEDS, [])
    execute(folder)
    for others in (model("layernorm"), model("layernorm", "layernorm:place=before")):
        with pytest.raises(InputError, match=r"norm\.weight belongs to .*before W_O.* there and"):
            begun(folder.path, others).trainer(SEEDS)
    longer = model(*norms.remedies, "alibi")
    assert begun(folder.path, longer).trainer(SEEDS).fleet.size == 3


def test_statistics_of_training_are_taken_over(tmp_path: Path) -> None:
    normed = MinimalModel(extra_width=1, remedies=("batchnorm",))
    folder = RunFolder.create(tmp_path / "normed", replace(RECIPE, model=normed), SEEDS, [])
    execute(folder)
    trained = load_trainer(folder).fleet
    fleet = begun(folder.path, normed).trainer([SEEDS[2], SEEDS[0]]).fleet
    for name in ("mean", "variance"):
        name = f"attention.remedies.0.norm.{name}"
        assert torch.equal(fleet.buffers[name], trained.buffers[name][[2, 0]])


def test_what_does_not_fit_is_named(source: Path, tmp_path: Path) -> None:
    cases = [
        (begun(source, MinimalModel(extra_width=2)), SEEDS, r"has shape \(6, 6\) there, expected"),
        (begun(source), [Hyperparameters(seed=5)], "has 0 models of seed 5, expected one"),
        (begun(source), [replace(SEEDS[0], trial=1)], "has 0 models of seed 4"),
        (begun(tmp_path), SEEDS, "expected a run folder"),
        (
            recipe_for(
                ArgmaxRetrieval(), SetReaderModel(width=4), test_lengths=(4,), steps=1,
                start_from=str(source),
            ),
            [replace(SEEDS[0], resid_dropout=0.0)],
            "attention.query.weight has shape|share weights",
        ),
    ]  # fmt: skip
    for recipe, every, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            RunFolder.create(tmp_path / "run", recipe, every, [])
        assert len(str(caught.value).splitlines()) == 1
        assert not (tmp_path / "run").exists(), "nothing is left behind"


def test_two_models_of_one_seed_are_no_choice(source: Path, tmp_path: Path) -> None:
    twice = [Hyperparameters(learning_rate=rate) for rate in (1e-3, 1e-2)]
    folder = RunFolder.create(tmp_path / "twice", replace(RECIPE, steps=1), twice, [])
    execute(folder)
    with pytest.raises(InputError, match="has 2 models of seed 0, expected one"):
        begun(folder.path).trainer([Hyperparameters()])


def test_the_source_is_not_needed_again_and_a_stopped_run_ends_alike(
    source: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(source, moved)
    whole, broken = (
        RunFolder.create(tmp_path / name, begun(moved), SEEDS, []) for name in ("whole", "broken")
    )
    shutil.rmtree(moved)
    assert broken.newest_step() == 0
    execute(whole)
    asked = iter(range(1, 100))
    with pytest.raises(Interrupted):
        execute(broken, stop=lambda: next(asked) == 3)
    execute(RunFolder.open(broken.path))
    assert broken.table().equals(whole.table())
    ends = [folder.checkpoints()[-1].read_bytes() for folder in (whole, broken)]
    assert ends[0] == ends[1]


def test_a_second_measurement_with_more_remedies() -> None:
    recipe = recipe_for(
        ArgmaxRetrieval(), SetReaderModel(width=8), steps=3, batch=4, test_lengths=(4, 9),
        test_inputs=10, test_remedies=("adaptive",),
    )  # fmt: skip
    trainer = recipe.trainer([Hyperparameters(seed=seed) for seed in range(2)])
    trainer.run()
    found = {(one.measure, one.length): one.values for one in recipe.measure(trainer.fleet)}
    plain = {key for key in found if not key[0].endswith("_adaptive")}
    assert {(f"{name}_adaptive", length) for name, length in plain} == found.keys() - plain
    other = replace(recipe, model=SetReaderModel(width=8, remedies=("adaptive",)), test_remedies=())
    fleet = other.fleet(trainer.fleet.hyperparameters)
    fleet.weights.copy_(trainer.fleet.weights)
    for one in other.measure(fleet):
        assert torch.equal(found[f"{one.measure}_adaptive", one.length], one.values), one.measure
    assert not torch.equal(found["entropy", 9], found["entropy_adaptive", 9])


def test_remedies_of_a_second_measurement_have_no_weights() -> None:
    with pytest.raises(InputError, match=r"test_remedies.*without weights of their own"):
        replace(RECIPE, test_remedies=("layernorm",))
    with pytest.raises(InputError, match="remedy = 'adaptiv': did you mean 'adaptive'"):
        replace(RECIPE, test_remedies=("adaptiv",))
