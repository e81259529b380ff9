import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search.small import TEXT, small_space, space_file

from lengthwise.errors import InputError, require
from lengthwise.runs import SetComplementRecipe
from lengthwise.search import (
    Choice,
    Integers,
    LogUniform,
    Space,
    Uniform,
    When,
    load_space,
)
from lengthwise.search.set_complement import set_complement_space
from lengthwise.search.space import space_from_text


@given(st.integers(0, 2**40), st.integers(0, 10**6))
def test_a_trial_is_a_function_of_seed_and_number(seed: int, number: int) -> None:
    one, other = small_space().trial(seed, number), small_space().trial(seed, number)
    assert (one.values, one.recipe, one.member) == (other.values, other.recipe, other.member)


def test_trials_and_seeds_differ() -> None:
    space = small_space()
    rates = {
        space.trial(seed, 2 * n).values["learning_rate"] for seed in range(5) for n in range(20)
    }
    assert len(rates) == 100


def test_one_more_hyperparameter_changes_no_other() -> None:
    before, after = small_space(), small_space(weight_decay=LogUniform(1e-3, 1.0))
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
        assert (first.member.seed, first.member.trial) == (3, pair)
        assert (second.member.seed, second.member.trial) == (3, pair)
    assert factors == set(space.twins)


def test_without_twins_every_trial_has_its_own_stream() -> None:
    space = Space(SetComplementRecipe(), {"learning_rate": LogUniform(1e-3, 1e-1)})
    trials = [space.trial(0, number) for number in range(10)]
    assert [trial.member.trial for trial in trials] == list(range(10))
    assert all(trial.factor is None for trial in trials)


def test_conditions() -> None:
    space = Space(
        SetComplementRecipe(),
        {
            "norm": Choice("none", "layernorm"),
            "norm_place": When("norm", "layernorm", Choice("before", "after"), otherwise="after"),
        },
    )
    places = {
        (t.values["norm"], t.values["norm_place"]) for t in (space.trial(0, i) for i in range(60))
    }
    assert places == {("none", "after"), ("layernorm", "before"), ("layernorm", "after")}
    assert space.trial(0, 0).recipe.norm_place == space.trial(0, 0).values["norm_place"]


def test_values_reach_the_recipe_and_the_member() -> None:
    trial = small_space().trial(0, 7)
    for name, value in trial.values.items():
        owner = trial.recipe if hasattr(trial.recipe, name) else trial.member
        assert getattr(owner, name) == value
    assert trial.recipe.vocab == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rat": Uniform(0, 1)}, "did you mean 'learning_rate'"),
        ({"seed": Choice(1, 2)}, "hyper-parameter = 'seed'"),
        ({"extra": When("norm", "none", Choice(1, 2), 0)}, "which must follow"),
        ({"twins": ("nrm",), "norm": Choice("none", "layernorm")}, "did you mean 'norm'"),
        ({"twins": ("norm",), "norm": "none"}, "twins = 'norm'"),
    ],
)
def test_bad_names_are_named(settings: dict[str, object], message: str) -> None:
    twins = settings.pop("twins", ())
    with pytest.raises(InputError, match=message):
        Space(SetComplementRecipe(), settings, twins=twins)  # type: ignore[arg-type]


def test_values_that_no_model_can_have_are_named() -> None:
    space = Space(SetComplementRecipe(), {"vocab": 8, "train_length": Choice(8, 9)})
    with pytest.raises(InputError, match=r"train_length = [89]: expected less than vocab = 8"):
        space.trial(0, 0)


def test_descriptions_tell_spaces_apart() -> None:
    spaces = [
        small_space(),
        small_space(vocab=7),
        small_space(learning_rate=LogUniform(1e-3, 2e-1)),
        small_space(weight_decay=0.1),
        Space(SetComplementRecipe(), {"learning_rate": LogUniform(1e-3, 1e-1)}),
        Space(SetComplementRecipe(vocab=9), {"learning_rate": LogUniform(1e-3, 1e-1)}),
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
    assert pickle.loads(packed).trial(0, 0).recipe.vocab == 6, "the text travels, not the path"


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
        (TEXT.replace("Recipe(extra=1)", "Recipe"), "recipe = <class .*expected a recipe"),
    ],
)
def test_bad_files_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        space_from_text("bad.py", text.format(steps=12))


@dataclass(frozen=True)
class Shape:
    width: int = 8
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bag:
    vocab: int = 10
    width: int = 3


@dataclass(frozen=True)
class Nested:
    """A recipe made of a task and a model, as far as a space looks into it."""

    name: ClassVar[str] = "nested"
    task: Bag = Bag()
    model: Shape = Shape()
    steps: int = 5

    def __post_init__(self) -> None:
        require(self.model.width < 100, "width", self.model.width, "less than 100")


def test_names_are_paths_into_the_recipe() -> None:
    space = Space(
        Nested(model=Shape(width=32)),
        {
            "model.remedies": Choice((), ("layernorm",)),
            "task.vocab": Choice(10, 20),
            "steps": Integers(1, 9),
            "learning_rate": LogUniform(1e-3, 1e-1),
        },
        twins=("model.remedies",),
    )
    trials = [space.trial(0, number) for number in range(40)]
    assert {trial.recipe.model for trial in trials} == {  # type: ignore[attr-defined]
        Shape(32), Shape(32, ("layernorm",))
    }  # fmt: skip
    assert {trial.recipe.task for trial in trials} == {Bag(10), Bag(20)}  # type: ignore[attr-defined]
    for first, second in zip(trials[::2], trials[1::2], strict=True):
        assert second.factor == "model.remedies"
        assert first.recipe.model != second.recipe.model  # type: ignore[attr-defined]
        assert first.recipe.task == second.recipe.task  # type: ignore[attr-defined]
    assert space.describe()["defaults"]["model"] == "Shape"
    assert space.describe()["defaults"]["model.width"] == 32
    assert pickle.loads(pickle.dumps(space)).trial(0, 3) == space.trial(0, 3)


def test_a_part_may_be_chosen_as_a_whole_and_then_changed() -> None:
    shapes = Choice(Shape(1), Shape(2, ("rotary",)))
    space = Space(Nested(), {"model": shapes, "model.width": Choice(3, 4)})
    found = {space.trial(0, number).recipe.model for number in range(40)}  # type: ignore[attr-defined]
    assert found == {Shape(w, r) for w in (3, 4) for r in ((), ("rotary",))}


def test_a_stream_is_named_after_the_last_part_of_the_path() -> None:
    wide, flat = Choice(*range(50)), small_space(steps=Choice(*range(1, 51)))
    space = Space(Nested(), {"steps": Choice(*range(1, 51)), "model.width": wide})
    both = Space(Nested(), {"model.width": wide, "task.width": wide})
    for number in range(20):
        values = space.trial(0, number).values
        assert values["steps"] == flat.trial(0, 2 * number).values["steps"]
        assert values["model.width"] == both.trial(0, number).values["model.width"]
    pairs = [both.trial(0, number).values for number in range(20)]
    assert any(pair["model.width"] != pair["task.width"] for pair in pairs), "two streams"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.widht", "did you mean 'model.width'"),
        ("modl.remedies", "did you mean 'model.remedies'"),
        ("width", "did you mean 'task.width'|did you mean 'model.width'"),
    ],
)
def test_paths_that_lead_nowhere(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space(Nested(), {name: Choice(1, 2)})


def test_a_part_of_a_recipe_is_checked_as_a_whole() -> None:
    with pytest.raises(InputError, match="width = 200: expected less than 100"):
        Space(Nested(), {"model.width": Choice(200)}).trial(0, 0)


@pytest.mark.parametrize("objective", ["tvd", "beyond", "tvd_above", "_beyond"])
def test_objectives_are_measures_within_or_beyond(objective: str) -> None:
    with pytest.raises(InputError, match=r"objective = .*such as tvd_beyond"):
        Space(Nested(), {}, objective=objective)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"space = 'nowhere\.py': expected a Python file"):
        load_space(Path("nowhere.py"))
