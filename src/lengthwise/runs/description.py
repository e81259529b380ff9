"""Recipes and hyper-parameters as JSON, and back, checked field by field."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_type_hints

import msgspec

from lengthwise.errors import InputError, require, require_name
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import Model
from lengthwise.registry import MODELS, TASKS, Registry, files_of, load_files
from lengthwise.remedies._chain import names_of
from lengthwise.runs.recipe import RECIPE_FIELDS, Recipe
from lengthwise.tasks import Task
from lengthwise.trust import require_trusted, trust

Kind = TypeVar("Kind")


def recipe_to_json(recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain JSON values, with the texts of the user's files that it needs.

    Args:
        recipe: The recipe.

    Raises:
        InputError: The task or the model cannot be found again by another process.
    """
    task, model = TASKS.key_of(type(recipe.task)), MODELS.key_of(type(recipe.model))
    remedies = names_of((*recipe.model.remedies, *recipe.test_remedies))
    from lengthwise.registry import REMEDIES

    for name in remedies:
        REMEDIES.key_of(REMEDIES.get(name))
    plain = {name: getattr(recipe, name) for name in RECIPE_FIELDS}
    values: dict[str, Any] = msgspec.to_builtins(
        {
            "task": {"name": task, **_fields(recipe.task)},
            "model": {"name": model, **_fields(recipe.model)},
            **plain,
            "files": files_of((task, model, *remedies)),
        }
    )
    return values


def recipe_from_json(values: Mapping[str, Any]) -> Recipe:
    """The recipe that `recipe_to_json` was given.

    Args:
        values: What `recipe_to_json` gave.

    Raises:
        InputError: A field is missing, unknown or of a wrong type or value, or brings code along
            that is not trusted.
    """
    values = dict(values)
    files = converted(values.pop("files", {}), dict[str, str], "files")
    require_trusted(files)
    load_files(files)
    settings = {
        "task": _part(TASKS, values.pop("task", None), Task),
        "model": _part(MODELS, values.pop("model", None), Model),
    }
    hints = get_type_hints(Recipe)
    for name, value in values.items():
        require_name(name, RECIPE_FIELDS, "field of a recipe")
        settings[name] = converted(value, hints[name], name)
    _require_keys("remedy", names_of(settings.get("test_remedies", ())))
    require("max_train_length" in settings, "max_train_length", None, "a whole number")
    return Recipe(**settings)


def recipe_from_process(values: dict[str, Any]) -> Recipe:
    """The recipe that another process of this program sent: its files are the user's own."""
    for text in values["files"].values():
        trust(text)
    return recipe_from_json(values)


def hyperparameters_from_json(values: Any) -> tuple[Hyperparameters, ...]:
    """Hyper-parameters out of a list of JSON objects."""
    listed = converted(values, list[dict[str, Any]], "hyperparameters")
    require(len(listed) > 0, "hyperparameters", listed, "at least one model")
    known = [field.name for field in dataclasses.fields(Hyperparameters)]
    found = []
    for place, one in enumerate(listed):
        for name in one:
            require_name(name, known, "hyper-parameter")
        found.append(converted(one, Hyperparameters, f"hyperparameters[{place}]"))
    return tuple(found)


def converted(value: Any, kind: Any, field: str) -> Any:
    """A JSON value as `kind`, or an `InputError` with the field and the value."""
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        place = f"{field}{path.rstrip('`')}"
        wrong = _at(value, path.rstrip("`"))
        if isinstance(error.__cause__, InputError):
            raise InputError(str(error.__cause__)) from None
        raise InputError(f"{place} = {_short(wrong)}: {_lower(reason)}") from None


def _part(registry: Registry[Kind], values: Any, base: type[Any]) -> Any:
    """A task or a model out of its name and its fields."""
    given = converted(values, dict[str, Any], registry.kind)
    name = given.pop("name", None)
    _require_keys(registry.kind, [name])
    cls = registry.get(name)
    known = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for field in given:
        require_name(field, known, f"field of {registry.kind} {name!r}")
    hints = get_type_hints(cls)
    fields = {k: converted(v, hints[k], f"{registry.kind}.{k}") for k, v in given.items()}
    _require_keys("remedy", names_of(fields.get("remedies", ())))
    return cls(**fields)


def _require_keys(kind: str, names: Iterable[Any]) -> None:
    """A description names files by key: a path would run whatever lies there."""
    for name in names:
        path = isinstance(name, str) and name.endswith(".py")
        require(not path, kind, name, "a name, or the key of one of 'files'")


def _fields(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}


def _at(value: Any, path: str) -> Any:
    """What stands at a path such as `.a[0].b` of a JSON value."""
    for name, place in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            value = value[name] if name else value[int(place)]
        except (KeyError, IndexError, TypeError):
            return value
    return value


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _lower(reason: str) -> str:
    return reason[:1].lower() + reason[1:].replace("`", "")
