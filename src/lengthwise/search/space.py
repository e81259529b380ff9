"""A search space: a recipe, and a distribution for each hyper-parameter that is searched."""

import dataclasses
import hashlib
import json
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.errors import InputError, require, require_name
from lengthwise.randomness import address
from lengthwise.search.distributions import Distribution, Value, When
from lengthwise.search.recipes import SearchRecipe
from lengthwise.training import Hyperparameters

_STREAM = ("seed", "trial")
"""Fields of a member that say which random numbers it sees: the search sets them itself."""


@dataclass(frozen=True)
class Trial:
    """One model of a search: all there is to know before it is trained."""

    number: int
    values: Mapping[str, Value]
    """The hyper-parameters that were drawn, by name."""
    factor: str | None
    """What this trial differs in from the one before, its twin; None if it is no second twin."""
    recipe: SearchRecipe
    member: Hyperparameters


class Space:
    """What is searched. Trial i of a seed is a pure function of (space, seed, i).

    `Space(SetComplementRecipe, learning_rate=LogUniform(1e-4, 1e-2), norm="layernorm")`: names are
    fields of the recipe, which the models of a fleet share, or of `Hyperparameters`, which each
    model has for itself. A plain value is fixed; what is not named keeps its default.

    Every hyper-parameter has a random stream of its own, so adding one leaves the others as they
    were.
    """

    def __init__(
        self,
        recipe: type[Any],
        /,
        *,
        twins: Sequence[str] = (),
        **hyperparameters: Distribution | When | Value,
    ) -> None:
        """Check all names.

        Args:
            recipe: The class of the recipe, a frozen dataclass.
            twins: Names of hyper-parameters. If any are given, trials come in pairs: 2j + 1 has
                the data, the initial weights and all hyper-parameters of 2j, but for one of these,
                which is drawn anew. A Choice with equal weights, or a Sometimes with chance 1/2,
                gives both twins the same distribution.
            hyperparameters: A distribution, a condition (`When`) or a fixed value each.
        """
        self.recipe = recipe
        self.twins = tuple(twins)
        self.hyperparameters = hyperparameters
        self.source: tuple[str, str] | None = None
        """Name and text of the file that defined the space, if one did."""
        self._recipes: dict[str, SearchRecipe] = {}
        shared = {field.name for field in dataclasses.fields(recipe)}
        own = {field.name for field in dataclasses.fields(Hyperparameters)} - set(_STREAM)
        for name in sorted(shared & own):
            raise InputError(f"{recipe.__name__}.{name}: expected a name that no member has")
        self._own = own
        seen: set[str] = set()
        for name, given in hyperparameters.items():
            require_name(name, shared | own, "hyper-parameter")
            if isinstance(given, When):
                require_name(given.name, seen, f"When of {name}, which must follow")
            seen.add(name)
        unconditional = [n for n in self.searched if not isinstance(hyperparameters[n], When)]
        for name in self.twins:
            require_name(name, unconditional, "twins")

    @property
    def searched(self) -> list[str]:
        """The names of what is drawn, in order."""
        return [n for n, given in self.hyperparameters.items() if _drawn(given)]

    def trial(self, seed: int, number: int) -> Trial:
        """Trial `number` of the search with `seed`."""
        stream = number // 2 if self.twins else number
        factor = None
        if self.twins and number % 2:
            factor = self.twins[int(_uniform(seed, stream, "twin") * len(self.twins))]
        values: dict[str, Value] = {}
        for name, given in self.hyperparameters.items():
            values[name] = self._value(name, given, values, seed, stream)
            if name == factor and isinstance(given, Distribution):
                values[name] = given.another(values[name], _uniform(seed, stream, name, "twin"))
        own = {name: value for name, value in values.items() if name in self._own}
        shared = {name: value for name, value in values.items() if name not in self._own}
        member = Hyperparameters(seed=seed, trial=stream, **own)
        drawn = {name: values[name] for name in self.searched}
        return Trial(number, drawn, factor, self._recipe(shared), member)

    def _recipe(self, shared: Mapping[str, Value]) -> SearchRecipe:
        """The recipe with these fields; many trials share one, and checking it takes a while."""
        key = repr(sorted(shared.items()))
        if key not in self._recipes:
            self._recipes[key] = self.recipe(**shared)
        return self._recipes[key]

    def _value(
        self, name: str, given: Any, values: Mapping[str, Value], seed: int, stream: int
    ) -> Value:
        if isinstance(given, When):
            if values[given.name] != given.equals:
                return given.otherwise
            given = given.then
        if isinstance(given, Distribution):
            return given.at(_uniform(seed, stream, name))
        return given

    def describe(self) -> dict[str, Any]:
        """All that says which trials there are, as JSON values; equal if and only if they are."""
        described = {
            name: given.describe() if _drawn(given) else {"fixed": given}
            for name, given in self.hyperparameters.items()
        }
        defaults = {
            field.name: field.default
            for kind in (self.recipe, Hyperparameters)
            for field in dataclasses.fields(kind)
            if field.name not in (*self.hyperparameters, *_STREAM)
        }
        code = None if self.source is None else hashlib.sha256(self.source[1].encode()).hexdigest()
        description = {
            "recipe": self.recipe.name,
            "twins": list(self.twins),
            "hyperparameters": described,
            "defaults": defaults,
            "code": code,
        }
        plain: dict[str, Any] = json.loads(json.dumps(description, default=repr))
        return plain

    def __reduce__(self) -> tuple[Any, ...]:
        """A space of a file travels to other processes as the file's text."""
        if self.source is not None:
            return space_from_text, self.source
        return _rebuilt, (self.recipe, self.twins, self.hyperparameters)


def load_space(path: Path) -> Space:
    """Run the Python file at `path` and take the `space` that it defines."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"space = {str(path)!r}: expected a Python file ({error})") from error
    return space_from_text(path.name, text)


def space_from_text(name: str, text: str) -> Space:
    """The `space` that the text of a Python file defines; `name` is for messages."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    module = types.ModuleType(f"lengthwise_space_{digest}")
    # Classes look for the module they were defined in, dataclasses already while they are made.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except Exception as error:
        raise InputError(f"space = {name!r}: {type(error).__name__}: {error}") from error
    space = getattr(module, "space", None)
    expected = "a file that defines 'space = Space(...)'"
    require(isinstance(space, Space), "space", name, expected)
    assert isinstance(space, Space)
    space.source = (name, text)
    return space


def _rebuilt(recipe: type[Any], twins: Sequence[str], hyperparameters: Mapping[str, Any]) -> Space:
    return Space(recipe, twins=twins, **hyperparameters)


def _drawn(given: object) -> bool:
    return isinstance(given, Distribution | When)


def _uniform(*path: int | str) -> float:
    """A number in [0, 1) that depends on nothing but `path`."""
    return (address("search", *path) >> 11 & (1 << 53) - 1) / (1 << 53)
