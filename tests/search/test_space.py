import pickle
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search.small import OWN, TEXT, small_space, space_file

from lengthwise import registry
from lengthwise.errors import InputError
from lengthwise.models import GPTModel, MinimalModel
from lengthwise.papers.whats_missing.search.space import set_complement_space
from lengthwise.runs import recipe_for
from lengthwise.search import (
    Choice,
    Integers,
    LogUniform,
    Space,
    Uniform,
    When,
    load_space,
)
from lengthwise.search.space import space_from_text
from lengthwise.search.work import Work
from lengthwise.tasks import SetComplement

RECIPE = recipe_for("set-complement")


@given(st.integers(0, 2**40), st.integers(0, 10**6))
def test_a_trial_is_a_function_of_seed_and_number(seed: int, number: int) -> None:
    assert small_space().trial(seed, number) == small_space().trial(seed, number)


def test_trials_and_seeds_differ() -> None:
    space = small_space()
    rates = {
        space.trial(seed, 2 * n).values["learning_rate"] for seed in range(5) for n in range(20)
    }
    assert len(rates) == 100


def test_one_more_hyperparameter_changes_no_other() -> None:
    before, after = small_space(), small_space({"weight_decay": LogUniform(1e-3, 1.0)})
    for number in range(50):
        values = after.trial(0, number).values
        assert 1e-3 <= values["weight_decay"] <= 1.0
        assert {n: v for n, v in values.items() if n != "weight_decay"} == before.trial(
            0, number
        ).values


def test_twins_share_everything_but_one_factor() -> None:
    space = set_complement_space()
    factors = set()
    for pair in range(200):
        first, second = space.trial(3, 2 * pair), space.trial(3, 2 * pair + 1)
        assert first.factor is None
        assert second.factor in space.twins
        factors.add(second.factor)
        differing = [n for n in first.values if first.values[n] != second.values[n]]
        assert differing == [second.factor]
        assert (first.hyperparameters.seed, first.hyperparameters.trial) == (3, pair)
        assert (second.hyperparameters.seed, second.hyperparameters.trial) == (3, pair)
    assert factors == set(space.twins)


def test_without_twins_every_trial_has_its_own_stream() -> None:
    space = Space(RECIPE, {"learning_rate": LogUniform(1e-3, 1e-1)})
    trials = [space.trial(0, number) for number in range(10)]
    assert [trial.hyperparameters.trial for trial in trials] == list(range(10))
    assert all(trial.factor is None for trial in trials)


def test_conditions() -> None:
    space = Space(
        RECIPE,
        {
            "steps": Choice(10, 20),
            "model.remedies": When("steps", 10, Choice(("rotary",), ("alibi",)), otherwise=()),
            "model.pre_norm": When("model.remedies", (), Choice(True, False), otherwise=True),
        },
    )
    found = {tuple(space.trial(0, number).values.values()) for number in range(60)}
    assert found == {
        (10, ("rotary",), True), (10, ("alibi",), True), (20, (), True), (20, (), False)
    }  # fmt: skip


def test_values_reach_the_recipe_and_the_hyperparameters() -> None:
    trial = small_space().trial(0, 7)
    for name, value in trial.values.items():
        path = f"recipe.{name}" if hasattr(trial.recipe, name.split(".")[0]) else (
            f"hyperparameters.{name}"
        )  # fmt: skip
        assert attrgetter(path)(trial) == value
    assert trial.recipe.task == SetComplement(6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rat": Uniform(0, 1)}, "did you mean 'learning_rate'"),
        ({"seed": Choice(1, 2)}, "hyper-parameter = 'seed'"),
        ({"model.extra_width": When("steps", 5, Choice(1, 2), 0)}, "which must follow"),
        ({"twins": ("stps",), "steps": Choice(1, 2)}, "did you mean 'steps'"),
        ({"twins": ("steps",), "steps": 5}, "twins = 'steps'"),
    ],
)
def test_bad_names_are_named(settings: dict[str, object], message: str) -> None:
    twins = settings.pop("twins", ())
    with pytest.raises(InputError, match=message):
        Space(RECIPE, settings, twins=twins)  # type: ignore[arg-type]


def test_values_that_no_model_can_have_are_named() -> None:
    space = Space(RECIPE, {"task.vocab": 8, "max_train_length": Choice(8, 9)})
    with pytest.raises(InputError, match=r"max_train_length = [89]: expected one of 1\.\.7"):
        space.trial(0, 0)


def test_descriptions_tell_spaces_apart() -> None:
    spaces = [
        small_space(),
        small_space({"task.vocab": 7}),
        small_space({"learning_rate": LogUniform(1e-3, 2e-1)}),
        small_space({"weight_decay": 0.1}),
        Space(RECIPE, {"learning_rate": LogUniform(1e-3, 1e-1)}),
        Space(recipe_for(SetComplement(9)), {"learning_rate": LogUniform(1e-3, 1e-1)}),
    ]
    described = [space.describe() for space in spaces]
    for place, one in enumerate(described):
        assert [other == one for other in described] == [i == place for i in range(len(spaces))]
    assert small_space().describe() == described[0]


def test_a_space_travels_between_processes(tmp_path: Path) -> None:
    for space in (small_space(), load_space(space_file(tmp_path))):
        copy = pickle.loads(pickle.dumps(space))
        assert copy.describe() == space.describe()
        assert copy.trial(1, 5).values == space.trial(1, 5).values
    path = space_file(tmp_path)
    packed = pickle.dumps(load_space(path))
    path.unlink()
    assert pickle.loads(packed).trial(0, 0).recipe.task == SetComplement(6), (
        "the text travels, not the path"
    )


def test_a_file_is_the_space_it_defines(tmp_path: Path) -> None:
    loaded = load_space(space_file(tmp_path))
    for number in range(10):
        assert loaded.trial(0, number).values == small_space().trial(0, number).values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines 'space = Space"),
        ("space = 3", "defines 'space = Space"),
        ("this is no Python", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        (TEXT.replace("LogUniform(1e-3, 1e-1)", "LogUniform(1e-1, 1e-3)"), "bad.py: .*inverted"),
        (TEXT.replace("learning_rate", "learningrate"), "did you mean 'learning_rate'"),
        (
            "from lengthwise.search import Space; space = Space(3, {{}})",
            "bad.py: recipe = 3: expected",
        ),
    ],
)
def test_bad_files_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        space_from_text("bad.py", text.format(steps=12))


def test_names_are_paths_into_the_recipe() -> None:
    space = Space(
        recipe_for("set-complement", MinimalModel(key_width=32)),
        {
            "model.remedies": Choice((), ("layernorm",)),
            "task.vocab": Choice(10, 20),
            "steps": Integers(1, 9),
            "learning_rate": LogUniform(1e-3, 1e-1),
        },
        twins=("model.remedies",),
    )
    trials = [space.trial(0, number) for number in range(40)]
    assert {trial.recipe.model for trial in trials} == {
        MinimalModel(key_width=32),
        MinimalModel(key_width=32, remedies=("layernorm",)),
    }
    assert {trial.recipe.task for trial in trials} == {SetComplement(10), SetComplement(20)}
    for first, second in zip(trials[::2], trials[1::2], strict=True):
        assert second.factor == "model.remedies"
        assert first.recipe.model != second.recipe.model
        assert first.recipe.task == second.recipe.task
    assert space.describe()["recipe"]["model"]["key_width"] == 32
    assert pickle.loads(pickle.dumps(space)).trial(0, 3) == space.trial(0, 3)


def test_a_part_may_be_chosen_as_a_whole_and_then_changed() -> None:
    models = Choice(MinimalModel(), MinimalModel(remedies=("rotary",)), GPTModel(layers=1))
    space = Space(RECIPE, {"model": models})
    assert {space.trial(0, number).recipe.model for number in range(40)} == {*models.values}
    assert pickle.loads(pickle.dumps(space)).trial(0, 3) == space.trial(0, 3)
    minimal = Choice(*models.values[:2])
    space = Space(RECIPE, {"model": minimal, "model.extra_width": Choice(3, 5)})
    assert {space.trial(0, number).recipe.model for number in range(40)} == {
        MinimalModel(extra_width=width, remedies=remedies)
        for width in (3, 5)
        for remedies in ((), ("rotary",))
    }


def test_a_stream_is_named_after_the_last_part_of_the_path() -> None:
    many = Choice(*range(1, 51))
    space = Space(RECIPE, {"steps": many, "model.extra_width": many})
    other = Space(RECIPE, {"model.extra_width": many}, streams={"model.extra_width": "steps"})
    for number in range(20):
        values = space.trial(0, number).values
        assert values["steps"] == small_space({"steps": many}).trial(0, 2 * number).values["steps"]
        assert values["steps"] == other.trial(0, number).values["model.extra_width"], "renamed"
    pairs = [space.trial(0, number).values for number in range(20)]
    assert any(pair["steps"] != pair["model.extra_width"] for pair in pairs), "two streams"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.extra_widht", "did you mean 'model.extra_width'"),
        ("modl.remedies", "did you mean 'model.remedies'"),
        ("vocab", "did you mean 'task.vocab'"),
    ],
)
def test_paths_that_lead_nowhere(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space(RECIPE, {name: Choice(1, 2)})


@pytest.mark.parametrize(
    ("remedies", "message"),
    [
        (Choice((), ("layernrm",)), "did you mean 'layernorm'"),
        ("layernorm", "remedies = 'layernorm': expected a tuple"),
        (Choice(1, 2), "remedies = 1: expected a tuple"),
    ],
)
def test_remedies_are_looked_up_at_once(remedies: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space(RECIPE, {"model.remedies": remedies})


def test_a_file_defines_its_own_model_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN.format(steps=4))
    space = load_space(path)
    trials = [space.trial(0, number) for number in range(8)]
    assert {type(t.recipe.model).__name__ for t in trials} == {"OwnSums", "MinimalModel"}
    assert any(trial.recipe.model.remedies for trial in trials)
    expected = Work(space, seed=0).train([0])
    packed, described = pickle.dumps(Work(space, seed=0)), space.describe()
    path.unlink()
    monkeypatch.setattr(registry, "_FILES", {})  # as in another process
    copy = pickle.loads(packed)
    assert copy.train([0]) == expected
    assert copy.space.describe() == described


REMEDY = """
from lengthwise.remedies import Remedy, remedy

@remedy("my-times")
class Times(Remedy):
    def scores(self, scores, read):
        return {factor} * scores
"""

OF_A_REMEDY = """
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, Space

space = Space(
    recipe_for("set-complement", MinimalModel(remedies=("times.py",)), steps=3, test_inputs=8),
    {"model.remedies": Choice((), ("times.py",)), "learning_rate": Choice(0.1, 0.2)},
)
"""


@pytest.mark.parametrize("own_file", [True, False])
def test_files_that_a_space_names_travel_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_file: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("times.py").write_text(REMEDY.format(factor=2))
    space = space_from_text("of_a_remedy.py", OF_A_REMEDY)
    if not own_file:
        space = Space(space.recipe, space.hyperparameters)
    before = space.describe()
    assert list(before["recipe"]["files"].values()) == [REMEDY.format(factor=2)]
    work = Work(space, seed=0)
    packed, expected = pickle.dumps(work), work.train([0]) + work.train([1])
    Path("times.py").write_text(REMEDY.format(factor=3))
    assert space.describe() == before, "known by what was in it"
    monkeypatch.setattr(registry, "_FILES", {})  # as in another process
    copy = pickle.loads(packed)
    assert copy.train([0]) + copy.train([1]) == expected
    assert {copy.space.trial(0, number).recipe.model.remedies for number in (0, 1)} != {()}


def test_the_trials_of_the_committed_search_are_still_the_same() -> None:
    space = set_complement_space()
    first, other = space.trial(0, 0), space.trial(0, 5)
    assert first.values == {
        "max_train_length": 3,
        "model.extra_width": 0,
        "model.remedies": ("layernorm",),
        "steps": 8000,
        "learning_rate": 0.0014560285400771664,
        "final_lr_fraction": 0.0,
        "weight_decay": 0.0,
        "loss": "soft",
        "embed_dropout": 0.0,
        "attention_dropout": 0.18481056206114205,
        "resid_dropout": 0.0,
    }
    assert other.values == {
        "max_train_length": 6,
        "model.extra_width": 17,
        "model.remedies": ("layernorm",),
        "steps": 8000,
        "learning_rate": 0.008149953179536755,
        "final_lr_fraction": 1.0,
        "weight_decay": 0.0,
        "loss": "soft",
        "embed_dropout": 0.0,
        "attention_dropout": 0.13631616206810115,
        "resid_dropout": 0.1760519693915726,
    }
    assert (first.factor, other.factor) == (None, "resid_dropout")
    assert (other.hyperparameters.seed, other.hyperparameters.trial) == (0, 2)


@pytest.mark.parametrize("objective", ["tvd", "beyond", "tvd_above", "_beyond"])
def test_objectives_are_measures_within_or_beyond(objective: str) -> None:
    with pytest.raises(InputError, match=r"objective = .*such as tvd_beyond"):
        Space(RECIPE, {}, objective=objective)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"file = 'nowhere\.py': expected a Python file"):
        load_space(Path("nowhere.py"))
