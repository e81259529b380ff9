"""A search space: a recipe, and a distribution for each hyper-parameter that is searched."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError, require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model
from lengthwise.randomness import address
from lengthwise.registry import MODELS, TASKS, files_of, load_files, load_text, read_file, sent
from lengthwise.remedies._chain import canonical, names_of
from lengthwise.runs import Recipe, recipe_to_json
from lengthwise.search.distributions import Distribution, Value, When
from lengthwise.search.objective import require_objective
from lengthwise.tasks import Task

FILE = "space.py"
"""What the file that defines a space is called in the search's folder, and so in keys of classes
that it defines: the folder's file defines the same space."""

_STREAM = ("seed", "trial")
"""Hyper-parameters that say which random numbers a model sees: the search sets them itself."""


@dataclass(frozen=True)
class Trial:
    """One model of a search: all there is to know before it is trained."""

    number: int
    values: Mapping[str, Value]
    """What was drawn, by name."""
    factor: str | None
    """What this trial differs in from the one before, its twin; None if it is no second twin."""
    recipe: Recipe
    hyperparameters: Hyperparameters


class Space:
    """What is searched. Trial i of a seed is a pure function of (space, seed, i).

    `Space(recipe, {"model.width": Choice(16, 64), "learning_rate": LogUniform(1e-4, 1e-2)})`: names
    are paths to the recipe's fields, which the models of a fleet share, or `Hyperparameters`, which
    each model has for itself. A plain value is fixed; what is not named stays as the recipe has it.

    Every hyper-parameter has a random stream of its own, named after the last part of its path, so
    adding one leaves the others as they were.
    """

    def __init__(
        self,
        recipe: Recipe,
        hyperparameters: Mapping[str, Distribution | When | Value],
        *,
        twins: Sequence[str] = (),
        objective: str = "tvd_beyond",
        streams: Mapping[str, str] | None = None,
    ) -> None:
        """Check all names.

        Args:
            recipe: What all trials share, but for what is searched.
            hyperparameters: A distribution, a condition (`When`) or a fixed value each.
            twins: Names of hyper-parameters. If any are given, trials come in pairs: 2j + 1 has
                the data, the initial weights and all hyper-parameters of 2j, but for one of these,
                which is drawn anew. A Choice with equal weights, or a Sometimes with chance 1/2,
                gives both twins the same distribution.
            objective: What makes a trial the best: `MEASURE_within` or `MEASURE_beyond`, the
                least, or for accuracy and exact_match the greatest. Trials do not depend on it.
            streams: Names of random streams that shall not be those of the hyper-parameters, so
                that renaming one leaves a search's trials as they were.

        Raises:
            InputError: A name that there is not, with the nearest one that there is.
        """
        require_objective(objective)
        expected = "a Recipe, such as recipe_for('set-complement')"
        require(isinstance(recipe, Recipe), "recipe", recipe, expected)
        expected = "none, as trials are measured at their end"
        require(not recipe.test_steps, "test_steps", recipe.test_steps, expected)
        self.recipe = recipe
        self.hyperparameters = _kept(hyperparameters)
        self.twins = tuple(twins)
        self.objective = objective
        self.source: tuple[str, str] | None = None
        """Name and text of the file that defined the space, if one did."""
        self._recipes: dict[str, Recipe] = {}
        self._own = {field.name for field in dataclasses.fields(Hyperparameters)} - set(_STREAM)
        shared = dict(_paths(recipe))
        seen: set[str] = set()
        for name, given in self.hyperparameters.items():
            require_name(name, shared.keys() | self._own, "hyper-parameter")
            if isinstance(given, When):
                require_name(given.name, seen, f"When of {name}, which must follow")
            seen.add(name)
        self._renamed = dict(streams or {})
        self._streams: dict[str, str] = {}
        for name in self.searched:
            last = self._renamed.get(name, name.rpartition(".")[2])
            self._streams[name] = name if last in self._streams.values() else last
        unconditional = [n for n in self.searched if not isinstance(hyperparameters[n], When)]
        for name in self.twins:
            require_name(name, unconditional, "twins")

    @property
    def searched(self) -> list[str]:
        """The names of what is drawn, in order."""
        return [n for n, given in self.hyperparameters.items() if _drawn(given)]

    def ends(self, name: str) -> tuple[Value, ...]:
        """Values of a hyper-parameter that is drawn, some of every type that it can have.

        Args:
            name: A name of the space.
        """
        return tuple(self.hyperparameters[name].ends)

    def trial(self, seed: int, number: int) -> Trial:
        """Trial `number` of the search with `seed`.

        Args:
            seed: Seed of the search.
            number: Number of the trial, from 0.
        """
        pair = number // 2 if self.twins else number
        factor = None
        if self.twins and number % 2:
            factor = self.twins[int(_uniform(seed, pair, "twin") * len(self.twins))]
        values: dict[str, Value] = {}
        for name, given in self.hyperparameters.items():
            stream = self._streams.get(name, name)
            values[name] = _value(given, values, _uniform(seed, pair, stream))
            if name == factor and isinstance(given, Distribution):
                values[name] = given.another(values[name], _uniform(seed, pair, stream, "twin"))
        own = {name: value for name, value in values.items() if name in self._own}
        shared = {name: value for name, value in values.items() if name not in self._own}
        drawn = {name: values[name] for name in self.searched}
        model = Hyperparameters(seed=seed, trial=pair, **own)
        return Trial(number, drawn, factor, self._recipe(shared), model)

    def _recipe(self, shared: Mapping[str, Value]) -> Recipe:
        """The recipe with these fields; many trials share one, and checking it takes a while."""
        key = repr(sorted(shared.items()))
        if key not in self._recipes:
            self._recipes[key] = _replaced(self.recipe, shared)
        return self._recipes[key]

    def describe(self) -> dict[str, Any]:
        """All that says which trials there are, as JSON values; equal if and only if they are."""
        described = {
            name: given.describe() if _drawn(given) else {"fixed": given}
            for name, given in self.hyperparameters.items()
        }
        defaults = {
            field.name: field.default
            for field in dataclasses.fields(Hyperparameters)
            if field.name not in (*self.hyperparameters, *_STREAM)
        }
        code = None if self.source is None else hashlib.sha256(self.source[1].encode()).hexdigest()
        description = {
            "recipe": recipe_to_json(self.recipe) | {"files": self._files()},
            "twins": list(self.twins),
            "hyperparameters": described,
            "defaults": defaults,
            "streams": self._renamed,
            "code": code,
        }
        plain: dict[str, Any] = json.loads(json.dumps(description, default=repr))
        return plain

    def _files(self) -> dict[str, str]:
        """The texts of the user's files that trials need, by key; without the space's own."""
        keys: set[str] = set()
        values: list[Value] = [self.recipe, self.recipe.task, self.recipe.model]
        for name, given in self.hyperparameters.items():
            drawn = self.ends(name) if _drawn(given) else (given,)
            values.extend(drawn)
            if _holds_remedies(name):
                keys.update(*map(names_of, drawn))
        for value in values:
            if isinstance(value, Task):
                keys.add(TASKS.key_of(type(value)))
            elif isinstance(value, Model):
                keys.update((MODELS.key_of(type(value)), *names_of(value.remedies)))
            elif isinstance(value, Recipe):
                keys.update(names_of(value.test_remedies))
        own = () if self.source is None else (load_text(FILE, self.source[1]).key,)
        return files_of(sorted(keys.difference(own)))

    def __reduce__(self) -> tuple[Any, ...]:
        """A space of a file travels to other processes as the file's text."""
        files = _Sent(self._files())
        if self.source is not None:
            return space_from_text, (*self.source, files.files)
        settings = {"twins": self.twins, "objective": self.objective, "streams": self._renamed}
        return _rebuilt, (files, self.recipe, self.hyperparameters, settings)


@dataclass(frozen=True)
class _Sent:
    """User's files that are known again before anything is unpickled that needs them."""

    files: dict[str, str]

    def __reduce__(self) -> tuple[Any, ...]:
        return load_files, (self.files,)


def load_space(path: Path | str) -> Space:
    """Run the Python file at `path` and take the `space` that it defines.

    Args:
        path: A Python file that you trust.

    Raises:
        InputError: It cannot be read, fails, or defines none.
    """
    path = Path(path)
    return space_from_text(path.name, read_file(path))


def space_from_text(name: str, text: str, files: dict[str, str] | None = None) -> Space:
    """The `space` that the text of a Python file defines.

    Args:
        name: The file's name, for messages.
        text: What is in the file.
        files: User's files that it names by their paths, where these may not be there.
    """
    try:
        with sent(files or {}):
            space = getattr(load_text(FILE, text).module, "space", None)
    except InputError as error:
        raise InputError(str(error).replace(FILE, name, 1)) from error
    expected = "a file that defines 'space = Space(...)'"
    require(isinstance(space, Space), "space", name, expected)
    assert isinstance(space, Space)
    space.source = (name, text)
    return space


def _rebuilt(
    _: None, recipe: Recipe, hyperparameters: Mapping[str, Any], settings: Mapping[str, Any]
) -> Space:
    return Space(recipe, hyperparameters, **settings)


def _kept(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """With remedies as recipes keep them, because a file's path may lead elsewhere later on."""

    def change(name: str, values: Value) -> Value:
        expected = "a tuple of remedies, such as () or ('rotary',)"
        require(isinstance(values, tuple | list), name, values, expected)
        return canonical(values)

    kept = dict(hyperparameters)
    for name, given in hyperparameters.items():
        if isinstance(given, When) and _holds_remedies(given.name):
            given = replace(given, equals=change(given.name, given.equals))
        if _holds_remedies(name):
            own = partial(change, name)
            given = given.mapped(own) if isinstance(given, Distribution | When) else own(given)
        kept[name] = given
    return kept


def _holds_remedies(name: str) -> bool:
    return name in ("model.remedies", "test_remedies")


def _paths(recipe: Any, prefix: str = "") -> Iterator[tuple[str, Value]]:
    """The fields of a recipe and of the dataclasses in it, each by its path, with their values."""
    for field in dataclasses.fields(recipe):
        if field.init:
            value = getattr(recipe, field.name)
            yield prefix + field.name, value
            if dataclasses.is_dataclass(value):
                yield from _paths(value, f"{prefix}{field.name}.")


def _replaced(recipe: Any, values: Mapping[str, Value]) -> Any:
    """The recipe with other values at some paths."""
    changes: dict[str, Value] = {}
    nested: dict[str, dict[str, Value]] = {}
    for name, value in values.items():
        field, dot, rest = name.partition(".")
        if dot:
            nested.setdefault(field, {})[rest] = value
        else:
            changes[field] = value
    for field, inner in nested.items():
        changes[field] = _replaced(changes.get(field, getattr(recipe, field)), inner)
    return dataclasses.replace(recipe, **changes)


def _drawn(given: object) -> bool:
    return isinstance(given, Distribution | When)


def _value(given: Any, values: Mapping[str, Value], u: float) -> Value:
    """What a hyper-parameter is where those before it have the given values."""
    if isinstance(given, When):
        if values[given.name] != given.equals:
            return given.otherwise
        given = given.then
    return given.at(u) if isinstance(given, Distribution) else given


def _uniform(*path: int | str) -> float:
    """A number in [0, 1) that depends on nothing but `path`."""
    return (address("search", *path) >> 11 & (1 << 53) - 1) / (1 << 53)
